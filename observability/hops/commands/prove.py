"""`python -m hops prove`: whether statistics and budgets are right, shown on runs and traces whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

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

Experiments = Annotated[int, typer.Option(min=1, help="How many experiments to make up.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same experiments.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")]
Found = TypeVar("Found")


@app.command()
def aa(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Compare four names of one system; fails if a metric shows differences in more than 5 %, beyond chance."""
    found = _with_progress("A/A experiments", experiments, lambda told: prove_aa(experiments, seed, told))
    _give(found, as_json, aa_table, found["ok"])


@app.command()
def coverage(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Count how often 95 % intervals hold a known truth; fails outside 93 to 97 %."""
    found = _with_progress("Experiments", experiments, lambda told: prove_coverage(experiments, seed, told))
    _give(found, as_json, coverage_table, found["ok"])


@app.command()
def power(
    experiments: Annotated[int, typer.Option(min=1, help="How many for each cell of the table.")] = 100,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Count how often true differences are shown in experiments of the default size."""
    total = experiments * len(STEPS) * len(SHIFTS)
    found = _with_progress("Experiments", total, lambda told: measure_power(experiments, seed, told))
    _give(found, as_json, power_table, ok=True)


@app.command()
def siblings(
    traces: Annotated[int, typer.Option(min=1, help="How many traces to make up for each cause of a wait.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same traces.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare rules for overlapping siblings on traces whose waits are known; fails if one beats that of budgets."""
    total = traces * len(CAUSES)
    found = _with_progress("Traces", total, lambda told: prove_siblings(traces, seed, told))
    _give(found, as_json, siblings_table, found["ok"])


def siblings_table(found: SiblingsProof) -> list[RenderableType]:
    """How much time each rule puts into the wrong part, for people."""
    table = table_titled(f"Time in the wrong part, {found['traces']:,} traces of each cause")
    table.add_column("still ahead", justify="right", no_wrap=True)
    for cause in CAUSES:
        table.add_column(cause, justify="right")
    table.add_column("all", justify="right", no_wrap=True)
    table.add_column("more than used", justify="right", no_wrap=True)
    for row in found["rules"]:
        used = row["ahead_percent"] == found["used_percent"]
        low, high = row["more_ci95"]
        more = "used" if used else f"{row['more']:+.1%} ({low:+.1%} to {high:+.1%})"
        values = (row["by_cause"][cause] for cause in CAUSES)
        table.add_row(f"{row['ahead_percent']} %", *(f"{value:.1%}" for value in values), f"{row['all']:.1%}", more)
    meaning = "A sibling that still runs counts as finished if at most so much of it lies ahead; intervals are of 95 %."
    verdict = (
        "No rule is better than the one in use by half a percent of the time, beyond chance."
        if found["ok"]
        else "A rule is better than the one in use by half a percent of the time, beyond chance."
    )
    return [table, meaning, verdict]


def power_table(found: PowerProof) -> list[RenderableType]:
    """How often true differences were shown, for people."""
    table = table_titled(f"True differences shown, {found['experiments']:,} experiments a row, with 95 % intervals")
    table.add_column("step", justify="right")
    table.add_column("shifts", justify="right")
    table.add_column("`all`, mean", justify="right", no_wrap=True)
    table.add_column("frequent, p50", justify="right", no_wrap=True)
    for row in found["cells"]:
        shift = f"{row['block_shift']:.0%} and {row['trial_shift']:.0%}"
        table.add_row(f"{row['step']:.0%}", shift, _rate(row["all_mean"]), _rate(row["frequent_p50"]))
    meaning = (
        "Each of four topologies is slower than the one before by the step; blocks and trials are shifted by so much."
    )
    return [table, meaning]


def aa_table(found: AA) -> list[RenderableType]:
    """What A/A experiments showed, for people."""
    table = table_titled(f"False differences in {found['experiments']:,} A/A experiments, with 95 % intervals")
    table.add_column("metric")
    table.add_column("tests with p < 5 %", justify="right")
    table.add_column("experiments with any, after Holm", justify="right")
    for row in found["metrics"]:
        table.add_row(row["metric"], _rate(row["tests"]), _rate(row["experiments"]))
    table.add_section()
    table.add_row("any of them", "", _rate(found["any_metric"]))
    table.add_row("Mann-Whitney on `all`", _rate(found["naive_tests"]), _rate(found["naive_experiments"]))
    verdict = (
        "No metric shows false differences in more than 5 % of the experiments, beyond chance."
        if found["ok"]
        else "A metric shows false differences in more than 5 % of the experiments."
    )
    return [table, verdict]


def coverage_table(found: CoverageProof) -> list[RenderableType]:
    """How often intervals held the truth, for people."""
    low, high = COVERAGE
    return [
        _figures(found),
        _settings(found),
        f"Every kind of figure is held in {low:.0%} to {high:.0%}."
        if found["ok"]
        else f"A kind of figure is held in less than {low:.0%} or more than {high:.0%}.",
    ]


def _figures(found: CoverageProof) -> Table:
    table = table_titled(f"Truth held by 95 % intervals in {found['experiments']:,} experiments")
    table.add_column("metric")
    table.add_column("of")
    for name in ("held", "error", "intervals", "refused"):
        table.add_column(name, justify="right")
    for row in found["figures"]:
        table.add_row(
            row["metric"],
            row["figure"],
            f"{row['coverage']:.1%}{'' if row['ok'] else ' !'}",
            f"{row['error']:.1%}",
            f"{row['intervals']:,}",
            f"{row['refused']:,}",
        )
    return table


def _settings(found: CoverageProof) -> Table:
    table = table_titled("The same by setting, all kinds of figures together")
    table.add_column("setting")
    names = list(dict.fromkeys(name for row in found["by"].values() for name in row))
    for name in names:
        table.add_column(name, justify="right")
    for label, row in found["by"].items():
        table.add_row(label, *(f"{row[name]:.1%}" if name in row else "" for name in names))
    return table


def _rate(found: Rate) -> str:
    low, high = found["ci95"]
    return f"{found['rate']:.1%} ({low:.1%} to {high:.1%})"


def _with_progress(what: str, total: int, work: Callable[[Callable[[int], None]], Found]) -> Found:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        return work(lambda done: shown.update(task, completed=done))


def _give(found: Any, as_json: bool, table: Callable[[Any], list[RenderableType]], ok: bool) -> None:
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        console = terminal()
        for part in table(found):
            console.print(part)
    if not ok:
        raise typer.Exit(1)
