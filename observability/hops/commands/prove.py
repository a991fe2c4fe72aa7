"""`python -m hops prove`: checks the statistics and hop budgets on synthetic data whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hops.commands.budget import AsJson
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, estimate, whole, words
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
from hops.terminal.console import terminal
from hops.terminal.render import rendered

app = typer.Typer(no_args_is_help=True, help=__doc__)

Experiments = Annotated[int, typer.Option(min=1, help="Number of synthetic experiments.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the synthetic data, an integer ≥ 0.")]
Result = TypeVar("Result")


@app.command()
def aa(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Count false differences between four copies of one system.

    Fails if a metric shows one in significantly more than 5 % of the experiments.
    """
    proof = with_progress("A/A experiments", experiments, lambda step: prove_aa(experiments, seed, step))
    give(proof, aa_view(proof), as_json=as_json)


@app.command()
def coverage(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Measure how often 95 % intervals contain the true value; fails outside 93 to 97 %."""
    proof = with_progress("Experiments", experiments, lambda step: prove_coverage(experiments, seed, step))
    give(proof, coverage_view(proof), as_json=as_json)


@app.command()
def power(
    experiments: Annotated[int, typer.Option(min=1, help="Number of synthetic experiments per row.")] = 100,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Measure how often a true difference is detected with the default number of blocks; never fails."""
    total = experiments * len(STEPS) * len(SHIFTS)
    proof = with_progress("Experiments", total, lambda step: measure_power(experiments, seed, step))
    give(proof, power_view(proof), as_json=as_json)


@app.command()
def siblings(
    traces: Annotated[int, typer.Option(min=1, help="Number of synthetic traces for each cause of a wait.")] = 5000,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Compare rules for overlapping sibling spans on traces whose waits are known.

    Fails if a rule is significantly better than the one that hop budgets use.
    """
    total = traces * len(CAUSES)
    proof = with_progress("Traces", total, lambda step: prove_siblings(traces, seed, step))
    give(proof, siblings_view(proof), as_json=as_json)


def with_progress(what: str, total: int, work: Callable[[Callable[[int], None]], Result]) -> Result:
    """Runs a proof under a progress bar on standard error.

    Args:
        what: what is counted.
        total: how many there are.
        work: the proof; calls the function that it is given with the number that are done.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        return work(lambda done: bar.update(task, completed=done))


def give(
    proof: Mapping[str, Any], elements: Sequence[Element], *, as_json: bool, console: Console | None = None
) -> None:
    """Ends a proof: prints it, and exits with 1 unless it holds.

    Args:
        proof: for programs; `holds` says how it ended.
        elements: for people: tables, notes and a verdict.
        as_json: print for programs.
        console: where to print for people; the terminal if not given.
    """
    if as_json:
        print(json.dumps(proof, indent=2))
    else:
        (console or terminal()).print(rendered(elements))
    if not proof["holds"]:
        raise typer.Exit(1)


def siblings_view(proof: SiblingsProof) -> list[Element]:
    """How much time each rule puts into the wrong part, for people."""
    columns = [Column("still ahead"), *(Column(cause, spare=1) for cause in CAUSES)]
    columns += [Column("all"), Column("more than used", "points", interval=True)]
    rows = []
    for rule in proof["rules"]:
        used = rule["ahead_percent"] == proof["used_percent"]
        rows.append(
            [
                Cell(f"{rule['ahead_percent']} %"),
                *(Cell(numbers.share(rule["by_cause"][cause])) for cause in CAUSES),
                Cell(numbers.share(rule["all"])),
                Cell("used") if used else _percent(rule["more"], rule["more_ci95"], signed=True),
            ]
        )
    return [
        Table("siblings", f"Time in the wrong part, {proof['traces']:,} traces of each cause", columns, rows),
        Text(
            "A sibling that is still running counts as finished if at most this share of it lies ahead. Points are "
            "percentage points, with 95 % intervals."
        ),
        Text(
            f"{'No' if proof['holds'] else 'A'} rule is better than the one in use by half a percent of the time, "
            "beyond chance."
        ),
    ]


def power_view(proof: PowerProof) -> list[Element]:
    """How often true differences were shown, for people."""
    columns = [Column("step"), Column("shifts")]
    columns += [Column(what, "%", interval=True) for what in ("`all`, mean", "frequent journeys, p50")]
    rows = [
        [
            Cell(numbers.share(cell["step"], 0)),
            Cell(f"{numbers.share(cell['block_shift'], 0)} and {numbers.share(cell['trial_shift'], 0)}"),
            _rate(cell["all_mean"]),
            _rate(cell["frequent_p50"]),
        ]
        for cell in proof["cells"]
    ]
    title = f"True differences shown, {proof['experiments']:,} experiments per row, with 95 % intervals"
    return [
        Table("power", title, columns, rows, heads=2),
        Text(
            "Each of four topologies is slower than the one before it by the step. The shifts are the standard "
            "deviations by which whole blocks and single trials vary."
        ),
    ]


def aa_view(proof: AA) -> list[Element]:
    """What A/A experiments showed, for people."""
    columns = [Column("metric", numeric=False)]
    columns += [
        Column(name, "%", interval=True) for name in ("tests with p below 5 %", "experiments with any, after Holm")
    ]
    rows = [[words(row["metric"]), _rate(row["tests"]), _rate(row["experiments"])] for row in proof["metrics"]]
    rows += [
        [words("any of them"), Cell(""), _rate(proof["any_metric"])],
        [words("Mann-Whitney on `all`"), _rate(proof["naive_tests"]), _rate(proof["naive_experiments"])],
    ]
    title = f"False differences in {proof['experiments']:,} A/A experiments, with 95 % intervals"
    verdict = (
        "No metric shows false differences in significantly more than 5 % of the experiments."
        if proof["holds"]
        else "A metric shows false differences in significantly more than 5 % of the experiments."
    )
    return [Table("aa", title, columns, rows, totals=2), Text(verdict, tone="verdict")]


def coverage_view(proof: CoverageProof) -> list[Element]:
    """How often intervals contained the truth, for people."""
    columns = [Column("metric", numeric=False), Column("of", numeric=False)]
    columns += [Column("coverage"), Column("error", spare=1), Column("intervals"), Column("refused")]
    figures = [
        [
            words(row["metric"]),
            words(row["figure"]),
            Cell(f"{numbers.share(row['coverage'])}{'' if row['ok'] else ' !'}"),
            Cell(numbers.share(row["error"])),
            whole(row["intervals"]),
            whole(row["refused"]),
        ]
        for row in proof["figures"]
    ]
    names = list(dict.fromkeys(name for row in proof["by"].values() for name in row))
    settings = [
        [words(label), *(Cell(numbers.share(row[name]) if name in row else "") for name in names)]
        for label, row in proof["by"].items()
    ]
    low, high = (f"{100 * limit:g}" for limit in COVERAGE)
    return [
        Table(
            "coverage", f"Coverage of 95 % intervals, {proof['experiments']:,} experiments", columns, figures, heads=2
        ),
        Table(
            "coverage_by_setting",
            "Coverage by setting, over all kinds of figures",
            [Column("setting", numeric=False), *map(Column, names)],
            settings,
        ),
        Text(
            f"Intervals of every kind of figure contain the true value in {low} to {high} % of cases."
            if proof["holds"]
            else f"Intervals of a kind of figure contain the true value in less than {low} % or more than {high} % of "
            "cases.",
            tone="verdict",
        ),
    ]


def _rate(rate: Rate) -> Cell:
    return _percent(rate["rate"], rate["ci95"])


def _percent(value: float, ends: Sequence[float], *, signed: bool = False) -> Cell:
    """A share from 0 to 1, in percent."""
    return estimate(100 * value, [100 * end for end in ends], signed=signed)
