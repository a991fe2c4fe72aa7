"""`python -m hops prove`: whether statistics and budgets are right, shown on data whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hops.commands.budget import AsJson
from hops.proofs.siblings import SiblingsProof, prove_siblings
from hops.proofs.statistics import (
    AA,
    COVERAGE,
    SHIFTS,
    STEPS,
    CoverageProof,
    PowerProof,
    Rate,
    measure_power,
    prove_aa,
    prove_coverage,
)
from hops.synthetic.waits import CAUSES
from hops.terminal.tables import table_titled, terminal

app = typer.Typer(no_args_is_help=True, help=__doc__)

Experiments = Annotated[int, typer.Option(min=1, help="How many experiments to simulate.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is simulated, an integer ≥ 0.")]
Result = TypeVar("Result")


@app.command()
def aa(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Compare four names of one system; fails if a metric shows differences in more than 5 %, beyond chance."""
    proof = with_progress("A/A experiments", experiments, lambda step: prove_aa(experiments, seed, step))
    give(proof, aa_view(proof), as_json=as_json)


@app.command()
def coverage(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Count how often 95 % intervals hold a known truth; fails outside 93 to 97 %."""
    proof = with_progress("Experiments", experiments, lambda step: prove_coverage(experiments, seed, step))
    give(proof, coverage_view(proof), as_json=as_json)


@app.command()
def power(
    experiments: Annotated[int, typer.Option(min=1, help="How many experiments for each row of the table.")] = 100,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Count how often true differences are shown in experiments of the default size; has no limit that could fail."""
    total = experiments * len(STEPS) * len(SHIFTS)
    proof = with_progress("Experiments", total, lambda step: measure_power(experiments, seed, step))
    give(proof, power_view(proof), as_json=as_json)


@app.command()
def siblings(
    traces: Annotated[int, typer.Option(min=1, help="How many traces to simulate for each cause of a wait.")] = 5000,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Compare rules for overlapping siblings on traces whose waits are known; fails if one beats that of budgets."""
    total = traces * len(CAUSES)
    proof = with_progress("Traces", total, lambda step: prove_siblings(traces, seed, step))
    give(proof, siblings_view(proof), as_json=as_json)


def with_progress(what: str, total: int, work: Callable[[Callable[[int], None]], Result]) -> Result:
    """Runs a proof under a progress bar on standard error.

    Args:
        what: what is counted.
        total: how many there are.
        work: the proof; calls the function that it is given with how many are done.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        return work(lambda done: bar.update(task, completed=done))


def give(
    proof: Mapping[str, Any], view: Sequence[RenderableType], *, as_json: bool, console: Console | None = None
) -> None:
    """Ends a proof: prints it, and exits with 1 unless it holds.

    Args:
        proof: for programs; `holds` says how it ended.
        view: for people: tables, notes and a verdict.
        as_json: print for programs.
        console: where to print for people; the terminal if not given.
    """
    if as_json:
        print(json.dumps(proof, indent=2))
    else:
        for part in view:
            (console or terminal()).print(part)
    if not proof["holds"]:
        raise typer.Exit(1)


def figures_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: Collection[str] = (),
    unbroken: Collection[str] = (),
) -> Table:
    """A table of a proof.

    Args:
        title: stands above it.
        columns: their headings.
        rows: cells of each row.
        words: columns that begin at the left, as words do; the others end at the right, as figures do.
        unbroken: columns that are never broken into lines.
    """
    table = table_titled(title)
    for name in columns:
        table.add_column(name, justify="left" if name in words else "right", no_wrap=name in unbroken)
    for row in rows:
        table.add_row(*row)
    return table


def siblings_view(proof: SiblingsProof) -> list[RenderableType]:
    """How much time each rule puts into the wrong part, for people."""
    rows = []
    for rule in proof["rules"]:
        low, high = rule["more_ci95"]
        more = f"{rule['more']:+.1%} ({low:+.1%} to {high:+.1%})"
        shares = [f"{rule['by_cause'][cause]:.1%}" for cause in CAUSES]
        used = rule["ahead_percent"] == proof["used_percent"]
        rows.append([f"{rule['ahead_percent']} %", *shares, f"{rule['all']:.1%}", "used" if used else more])
    title = f"Time in the wrong part, {proof['traces']:,} traces of each cause"
    whole = ("still ahead", "all", "more than used")
    return [
        figures_table(title, [whole[0], *CAUSES, *whole[1:]], rows, unbroken=whole),
        "A sibling that still runs counts as finished if at most so much of it lies ahead; intervals are of 95 %.",
        f"{'No' if proof['holds'] else 'A'} rule is better than the one in use by half a percent of the time, "
        "beyond chance.",
    ]


def power_view(proof: PowerProof) -> list[RenderableType]:
    """How often true differences were shown, for people."""
    title = f"True differences shown, {proof['experiments']:,} experiments a row, with 95 % intervals"
    rates = ("`all`, mean", "frequent, p50")
    rows = [
        (
            f"{cell['step']:.0%}",
            f"{cell['block_shift']:.0%} and {cell['trial_shift']:.0%}",
            _rate(cell["all_mean"]),
            _rate(cell["frequent_p50"]),
        )
        for cell in proof["cells"]
    ]
    return [
        figures_table(title, ["step", "shifts", *rates], rows, unbroken=rates),
        "Each of four topologies is slower than the one before by the step; blocks and trials are shifted by so much.",
    ]


def aa_view(proof: AA) -> list[RenderableType]:
    """What A/A experiments showed, for people."""
    title = f"False differences in {proof['experiments']:,} A/A experiments, with 95 % intervals"
    columns = ("metric", "tests with p < 5 %", "experiments with any, after Holm")
    rows = [(row["metric"], _rate(row["tests"]), _rate(row["experiments"])) for row in proof["metrics"]]
    table = figures_table(title, columns, rows, words=("metric",))
    table.add_section()
    table.add_row("any of them", "", _rate(proof["any_metric"]))
    table.add_row("Mann-Whitney on `all`", _rate(proof["naive_tests"]), _rate(proof["naive_experiments"]))
    verdict = (
        "No metric shows false differences in more than 5 % of the experiments, beyond chance."
        if proof["holds"]
        else "A metric shows false differences in more than 5 % of the experiments."
    )
    return [table, verdict]


def coverage_view(proof: CoverageProof) -> list[RenderableType]:
    """How often intervals held the truth, for people."""
    figures = [
        (
            row["metric"],
            row["figure"],
            f"{row['coverage']:.1%}{'' if row['ok'] else ' !'}",
            f"{row['error']:.1%}",
            f"{row['intervals']:,}",
            f"{row['refused']:,}",
        )
        for row in proof["figures"]
    ]
    title = f"Truth held by 95 % intervals in {proof['experiments']:,} experiments"
    names = list(dict.fromkeys(name for row in proof["by"].values() for name in row))
    settings = [
        (label, *(f"{row[name]:.1%}" if name in row else "" for name in names)) for label, row in proof["by"].items()
    ]
    low, high = COVERAGE
    return [
        figures_table(
            title, ["metric", "of", "held", "error", "intervals", "refused"], figures, words=("metric", "of")
        ),
        figures_table(
            "The same by setting, all kinds of figures together", ["setting", *names], settings, words=("setting",)
        ),
        f"Every kind of figure is held in {low:.0%} to {high:.0%}."
        if proof["holds"]
        else f"A kind of figure is held in less than {low:.0%} or more than {high:.0%}.",
    ]


def _rate(rate: Rate) -> str:
    low, high = rate["ci95"]
    return f"{rate['rate']:.1%} ({low:.1%} to {high:.1%})"
