"""The proofs that need no shop: checks of the statistics and hop budgets on synthetic data whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hops.commands.sources import AsJson
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, estimate, whole, words
from hops.proofs.aa import AA, MetricAA, prove_aa
from hops.proofs.coverage import Coverage, CoverageProof, prove_coverage
from hops.proofs.experiments import COVERAGE, DEFAULT, METRICS, USUAL, Rate, experiments_in
from hops.proofs.meetings import MeetingsProof, prove_meetings
from hops.proofs.observer import LIMIT, ObserverProof
from hops.proofs.power import CELLS, JOURNEY, PowerProof, Share, measure_power
from hops.proofs.precision import FIRST_STAGE, PrecisionProof, prove_precision
from hops.proofs.siblings import SiblingsProof, prove_siblings
from hops.proofs.trace_sets import SetsProof, prove_trace_sets
from hops.synthetic.waits import CAUSES
from hops.tables.observer import PLACES
from hops.terminal.console import terminal
from hops.terminal.render import rendered
from hops.units import ALL

_POWER_TABLES = {
    "step": ("", "Power by the size of the difference"),
    "blocks": ("blocks", "Power by the number of blocks"),
    "noise": ("noise", "Power by the noise"),
}
"""Tables of power, by what tells their rows apart: the first column's head, and the title."""

app = typer.Typer(no_args_is_help=True, help=__doc__)

Experiments = Annotated[int, typer.Option(min=1, help="Number of synthetic experiments.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the synthetic data, an integer ≥ 0.")]
Result = TypeVar("Result")


@app.command()
def aa(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Count false differences between four copies of one system.

    Fails if a metric shows one in significantly more than 5 % of the experiments.
    """
    proof = with_progress(
        "A/A experiments", experiments_in(experiments), lambda step: prove_aa(experiments, seed, step)
    )
    give(proof, aa_view(proof), as_json=as_json)


@app.command()
def coverage(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Measure how often 95 % intervals contain the true value; fails outside 93 to 97 %."""
    proof = with_progress(
        "Experiments", experiments_in(experiments), lambda step: prove_coverage(experiments, seed, step)
    )
    give(proof, coverage_view(proof), as_json=as_json)


@app.command()
def power(
    experiments: Annotated[int, typer.Option(min=1, help="Number of synthetic experiments per row.")] = 100,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Measure how often a true difference is detected, by its size, the number of blocks and the noise; never fails."""
    proof = with_progress("Rows", len(CELLS), lambda step: measure_power(experiments, seed, step))
    give(proof, power_view(proof), as_json=as_json)


@app.command()
def precision(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Check intervals and verdicts of experiments that run until their intervals are narrow.

    Fails outside 93 to 97 % with the usual first stage, if intervals of any kind of experiment hold the true value in
    significantly less, or if a metric shows false differences in significantly more than 5 % of the experiments.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_precision(experiments, seed, step))
    give(proof, precision_view(proof), as_json=as_json)


@app.command("trace-sets")
def trace_sets(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Compare equal sets of traces, and check limits that are their true figures.

    Fails if significantly more than 5 % of the pairs show a difference, or of the files of limits are broken.
    """
    proof = with_progress("Pairs", experiments_in(experiments), lambda step: prove_trace_sets(experiments, seed, step))
    give(proof, sets_view(proof), as_json=as_json)


@app.command()
def meetings(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Look for who waits behind whom where it is known.

    Fails if intervals contain the true wait in less than 93 % of cases, or leave out 0 in significantly more than 5 %
    of those without one.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_meetings(experiments, seed, step))
    give(proof, meetings_view(proof), as_json=as_json)


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
        what: What is counted, for people.
        total: How many there are.
        work: Runs the proof; calls the function that it is given with the number that are done.
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
        proof: Result for programs; `holds` says how the proof ended.
        elements: Result for people: tables, notes and a verdict.
        as_json: Whether to print for programs.
        console: Console to print on for people; the terminal if not given.
    """
    if as_json:
        print(json.dumps(proof, indent=2))
    else:
        (console or terminal()).print(rendered(elements))
    if not proof["holds"]:
        raise typer.Exit(1)


def meetings_view(proof: MeetingsProof) -> list[Element]:
    """How often intervals of what meetings cost were right, for people."""
    columns = [Column("others wait", numeric=False), Column("metric", numeric=False)]
    columns += [Column(name, "%", interval=True) for name in ("coverage", "false alarms")]
    rows = [
        [words(label), words(row["metric"]), _rate(row["coverage"]), _rate(row["alarms"])]
        for label, metrics in {"any time": proof["metrics"], **proof["by"]}.items()
        for row in metrics
    ]
    title = f"Intervals of what meetings cost, in {proof['experiments']:,} experiments, with 95 % intervals"
    return [
        Table("meetings", title, columns, rows, heads=2),
        Text(
            f"Intervals of every metric contain the true wait in {100 * COVERAGE[0]:g} % of cases or more, and "
            "false alarms are not significantly above 5 %."
            if proof["holds"]
            else f"Intervals of a metric contain the true wait in less than {100 * COVERAGE[0]:g} % of cases, or false "
            "alarms are significantly above 5 %.",
            tone="verdict",
        ),
    ]


def observer_view(proof: ObserverProof) -> list[Element]:
    """How often intervals of the observer effect left out 0 where nothing was traced, for people."""
    rates = {(row["topology"], row["place"]): _rate(row["left_out"]) for row in proof["places"]}
    places = [place for place in dict.fromkeys((ALL, *PLACES)) if any(place == there for _, there in rates)]
    rows = [
        [words(topology), *(rates.get((topology, place), Cell("")) for place in places)]
        for topology in dict.fromkeys(topology for topology, _ in rates)
    ]
    columns = [Column("topology", numeric=False), *(Column(PLACES[place], "%", interval=True) for place in places)]
    title = f"Draws whose interval leaves out 0, of {proof['draws']:,}, with 95 % intervals"
    limit = f"{100 * LIMIT:g} %"
    return [
        Table("observer_draws", title, columns, rows),
        Text(
            f"Of the {proof['journeys']:,} journeys that nobody traced, each draw calls a fifth sampled. "
            + (
                f"In no place do intervals leave out 0 in more than {limit} of the draws, unless by chance."
                if proof["holds"]
                else f"In a place intervals leave out 0 in more than {limit} of the draws, beyond chance."
            ),
            tone="verdict",
        ),
    ]


def sets_view(proof: SetsProof) -> list[Element]:
    """How often equal sets of traces differed, and true limits were broken, for people."""
    columns = [Column("noise", numeric=False), Column("pairs"), Column("different", "%", interval=True)]
    columns += [Column("limits broken", "%", interval=True)]
    rows = [
        [words(row["noise"]), whole(row["different"]["of"]), _rate(row["different"]), _rate(row["broken"])]
        for row in proof["noises"]
    ]
    return [
        Table(
            "trace_sets", "Pairs of equal sets that show any difference, and files with any broken limit", columns, rows
        ),
        Text(
            "With no kind of noise is either in significantly more than 5 % of cases."
            if proof["holds"]
            else "With a kind of noise one of them is in significantly more than 5 % of cases.",
            tone="verdict",
        ),
    ]


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
    blocks, journeys = DEFAULT
    tables: list[Element] = []
    for about, (head, title) in _POWER_TABLES.items():
        columns = [Column(head, numeric=False), Column("step of all")]
        columns += [Column("the mix"), Column("the mix, of one only")]
        columns += [Column(f"step of {JOURNEY}"), Column(JOURNEY)]
        rows = [
            [
                words({"step": "", "blocks": str(cell["blocks"]), "noise": cell["noise"]}[about]),
                Cell(numbers.share(cell["step"], 0)),
                _share(cell["mix"]),
                _share(cell["one"]),
                Cell(numbers.share(cell["journey_step"], 0)),
                _share(cell["journey"]),
            ]
            for cell in proof["cells"]
            if cell["about"] == about
        ]
        dropped = slice(0 if about != "step" else 1, None)
        tables.append(Table(f"power_{about}", title, columns[dropped], [row[dropped] for row in rows], heads=1))
    return [
        *tables,
        Text(
            f"Share of the differences of p50 that are shown, with standard errors, in {proof['experiments']:,} "
            f"experiments per row: {blocks} blocks, {journeys} journeys in a trial, and a standard deviation of 5 % "
            "between trials and between blocks, unless the row says otherwise. Each of four topologies is slower than "
            "the one before it by the step, and neighbours are counted: in every journey (“the mix”), or in one "
            "journey alone. “Of one only”: one of the four is slower than the others, which are equal."
        ),
    ]


def precision_view(proof: PrecisionProof) -> list[Element]:
    """What experiments that ran until their intervals were narrow held and showed, for people."""
    columns = [Column("experiments", numeric=False), Column("number"), Column("blocks", spare=1)]
    columns += [Column("reached"), Column("coverage, mix"), Column("naive", spare=1)]
    columns += [Column("coverage, least"), Column("most"), Column("false, most"), Column("naive", spare=1)]
    rows = []
    for row in proof["rows"]:
        low, middle, high = row["blocks"]
        coverage = [one["rate"] for one in row["coverage"].values()]
        shares = [
            row["reached"]["rate"],
            row["mix"]["rate"],
            row["fixed"]["rate"],
            min(coverage),
            max(coverage),
            max(one["rate"] for one in row["shown"].values()),
            row["fixed_shown"]["rate"],
        ]
        rows.append(
            [
                words(row["kind"]),
                whole(row["experiments"]),
                Cell(f"{middle} ({low} to {high})"),
                *(Cell(numbers.share(share)) for share in shares),
            ]
        )
    low_end, high_end = (f"{100 * limit:g}" for limit in COVERAGE)
    return [
        Table("precision", f"{proof['experiments']:,} A/A experiments that run until they are precise", columns, rows),
        Text(
            "Blocks: median, 10th and 90th percentile. Reached: experiments whose intervals of the mix's p50 became as "
            "narrow as was asked for. Coverage: 95 % intervals of ratios that hold the true one, of the mix's p50 and "
            "of the metrics with the least and the most. False: experiments that show a difference which there is "
            "not, for the metric with the most. Naive: the same at p50, from the scatter of all blocks alone."
        ),
        Text(
            f"With a first stage of {FIRST_STAGE} blocks each metric's intervals hold the true value in {low_end} to "
            f"{high_end} % of cases, those of no kind of experiment in significantly less, and no metric shows false "
            "differences in significantly more than 5 % of the experiments."
            if proof["holds"]
            else f"Intervals hold the true value in less than {low_end} % of cases or, with a first stage of "
            f"{FIRST_STAGE} blocks, in more than {high_end} %; or a metric shows false differences in significantly "
            "more than 5 % of the experiments.",
            tone="verdict",
        ),
    ]


def aa_view(proof: AA) -> list[Element]:
    """What A/A experiments showed, for people."""
    columns = [Column("metric", numeric=False)]
    columns += [
        Column(name, "%", interval=True) for name in ("tests with p below 5 %", "experiments with any, corrected")
    ]
    rows = [[words(row["metric"]), _rate(row["tests"]), _rate(row["experiments"])] for row in proof["metrics"]]
    rows += [
        [words("any of them"), Cell(""), _rate(proof["any_metric"])],
        [words("Mann-Whitney on `all`"), _rate(proof["naive_tests"]), _rate(proof["naive_experiments"])],
        [words("parts of hop differences"), _rate(proof["parts"]), Cell("")],
    ]
    title = f"False differences in {proof['experiments']:,} A/A experiments, with 95 % intervals"
    verdict = (
        "No metric shows false differences in significantly more than 5 % of the experiments."
        if proof["holds"]
        else "A metric shows false differences in significantly more than 5 % of the experiments."
    )
    return [
        Table("aa", title, columns, rows, totals=3),
        Table(
            "aa_noise",
            "Experiments with any false difference, by noise",
            [Column("noise", numeric=False), *(Column(name, "%", interval=True) for name in METRICS)],
            [[words(noise), *_any(metrics)] for noise, metrics in proof["noises"].items()],
        ),
        Text(verdict, tone="verdict"),
    ]


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
    kinds = list(dict.fromkeys((row["metric"], row["figure"]) for row in proof["figures"]))
    noises = {
        noise: {(row["metric"], row["figure"]): row for row in rows}
        for noise, rows in {USUAL: proof["figures"], **proof["noises"]}.items()
    }
    by_noise = [
        [words(metric), words(of), *(_covered(rows.get((metric, of))) for rows in noises.values())]
        for metric, of in kinds
    ]
    low, high = (f"{100 * limit:g}" for limit in COVERAGE)
    return [
        Table(
            "coverage", f"Coverage of 95 % intervals, {proof['experiments']:,} experiments", columns, figures, heads=2
        ),
        Table(
            "coverage_by_noise",
            "Coverage by noise, with standard errors",
            [Column("metric", numeric=False), Column("of", numeric=False), *map(Column, noises)],
            by_noise,
            heads=2,
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


def _any(metrics: Sequence[MetricAA]) -> list[Cell]:
    return [_rate(row["experiments"]) for row in metrics]


def _covered(row: Coverage | None) -> Cell:
    return Cell("") if row is None else _with_error(row["coverage"], row["error"])


def _share(share: Share) -> Cell:
    return _with_error(share["share"], share["error"])


def _with_error(share: float, error: float) -> Cell:
    return Cell(f"{numbers.share(share)} ± {100 * error:.1f}", share)


def _rate(rate: Rate) -> Cell:
    return _percent(rate["rate"], rate["ci95"])


def _percent(value: float, ends: Sequence[float], *, signed: bool = False) -> Cell:
    """A share from 0 to 1, in percent."""
    return estimate(100 * value, [100 * end for end in ends], signed=signed)
