"""Does the measurement find a delay of known size at the right component?

In every block, a trial with the delay is compared with a trial without it. The project's own hop differences say where
the journeys became slower and by how much. Two things must hold: the part with the largest significant change is the
work of the slowed component, and its interval includes the injected size. The size of a change is taken from the end
of its 95 % interval that is nearer to 0. The reason is that a large part that varies, such as a commit to the disk, may
differ between any two trials by more than the delay.

The journeys call the component in sequence, so that a customer waits for all of the delay. `product` and
`update_profile` make one call and wait for it; a checkout waits until its payment is authorised. The exception is a
checkout's second call to the payment service, which runs in parallel with the confirmation of the stock. It is on the
critical path only if it ends last, which a delay makes more likely. So the expected growth is

    pauses on the path + own work of a crossing x crossings that the delay moves onto the path

where the second term is 0 for every other pair here. A pause is never shorter than requested, and longer if the
component must wait for a processor when it wakes up. The component records each pause on its span by its own clock, and
that is the size to find. A pause also has an after-effect: an idle component finds its caches cold and its core asleep,
and handles the rest of the request more slowly. This is real and belongs to the component, so up to `AFTER_EFFECT_MS`
more for each pause is accepted.

Every delay is compared with the same trials without a delay, so a disturbance of these trials would affect all rows.
For k delays, a block therefore has about sqrt(k) such trials; this makes differences most precise for the time. Source:
Dunnett, "A Multiple Comparison Procedure for Comparing Several Treatments with a Control", Journal of the American
Statistical Association 50, 1955.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
import typer
from scipy import stats

from experiment.arguments import choices, read_items
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.profiles import Profile
from experiment.results.folder import read_json
from hops.analysis.hop_differences import hop_differences
from hops.conclusions.wording import plural
from hops.elements.element import Element, Points, Text
from hops.elements.table import Cell, Column, Table, table_of, words
from hops.gates.verdict import failing_gates, verdict_of, worst_verdict
from hops.run.documents.difference import PartDifference
from hops.run.files import HOPS_FILE, TRIALS, RunFiles, read_run
from hops.statistics.intervals import CONFIDENCE
from hops.statistics.over_blocks import MIN_BLOCKS
from hops.units import NS_PER_MS
from mesh.description.options import Json
from mesh.description.switches import parse_switches
from mesh.description.topology import Topology
from mesh.paths import ROOT
from proofs.measurement.in_trials import RETRY, Trials, describe
from proofs.outcome import proves

NAME = "prove-delays"
BASELINE = "baseline"
WORKLOAD = ROOT / "load" / "workloads" / "sequential.yaml"
PROFILE = Profile("proof", warmup_s=2, duration_s=12, rate=30.0, parity_samples=1)
JOURNEYS: Mapping[str, str] = {
    "payment": "checkout",
    "product": "product",
    "user": "update_profile",
    "order": "checkout",
    "graphql-gateway": "product",
}
"""The journey in which each component is called in sequence."""
AFTER_EFFECT_MS = 0.05
"""Accepted after-effect of a pause; values of 0.01 to 0.05 ms were usual on a quiet machine."""


@dataclass(frozen=True, slots=True)
class InjectedDelay:
    component: str
    delay_ms: float

    @property
    def label(self) -> str:
        return f"{self.component}-{self.delay_ms:g}ms"

    @property
    def part(self) -> str:
        """The part of the hop budget in which the delay must be found."""
        return f"work:{self.component}"


@dataclass(frozen=True, slots=True)
class FoundDelay:
    """Result of the measurement for one delay; times in ms.

    Attributes:
        delay_ms: Delay of each request to the component.
        traces: Number of traces with the delay, and without it.
        crossings: Mean number of the component's requests on a journey's critical path.
        paused_ms: Pauses of these requests per journey, by the component's own clock.
        expected_ms: Expected growth of the component's part of the budget.
        found_ms: Measured growth of that part.
        ci95_joint: The interval, widened so that the intervals of all rows hold simultaneously in 95 % of proofs.
        largest: The part with the largest significant change.
        second: The part with the largest significant change apart from the component's work.
        whole_ms: Growth of the journey's mean.
    """

    component: str
    delay_ms: float
    journey: str
    traces: tuple[int, int]
    crossings: float
    paused_ms: float
    expected_ms: float
    found_ms: float
    ci95: tuple[float, float]
    ci95_joint: tuple[float, float]
    largest: str
    second: str
    second_ms: float
    whole_ms: float

    def agrees(self, interval: tuple[float, float]) -> bool:
        """Whether an interval of `found_ms` includes the expected growth, plus the accepted after-effect at most."""
        return interval[0] <= self.expected_ms + AFTER_EFFECT_MS * self.crossings and interval[1] >= self.expected_ms

    @property
    def failed(self) -> tuple[str, ...]:
        """Why the delay counts as not found; empty if it was found."""
        slowed = InjectedDelay(self.component, self.delay_ms).part
        reasons = {
            f"{self.largest} changed significantly more": self.largest != slowed,
            "the interval includes 0": self.ci95_joint[0] <= 0,
            "the interval does not include the true size": not self.agrees(self.ci95_joint),
        }
        return tuple(reason for reason, there in reasons.items() if there)

    @property
    def holds(self) -> bool:
        """Whether the delay was found at the right component, with the right size."""
        return not self.failed


def parse_delays(hops: str, sizes: str) -> list[InjectedDelay]:
    """Reads which delays to inject, and where; both texts are comma-separated, the sizes in the format of `delay=`.

    Raises:
        UsageError: No journey waits for a component in sequence, or a component or size is given twice.
        SwitchError: The switch `delay` does not accept a size.
    """
    return [
        delay
        for component in choices("hops", hops, JOURNEYS)
        for delay in read_items("sizes", sizes, partial(_read_delay, component))
    ]


def _read_delay(component: str, size: str) -> InjectedDelay:
    return InjectedDelay(component, parse_switches(delay=f"{component}:{size}").delay_ms[component])


def proof_plan(delays: Sequence[InjectedDelay], topology: Topology, blocks: int, seed: int) -> Plan:
    """Plans an arm per delay and baseline arms in each block. Raises UsageError for too few blocks or too many arms."""
    if blocks < MIN_BLOCKS:
        raise UsageError(f"blocks={blocks} is too few for meaningful intervals: give at least {MIN_BLOCKS}")
    return Plan("proof", NAME, arms_of(delays, topology), blocks, PROFILE, seed, WORKLOAD)


def arms_of(delays: Sequence[InjectedDelay], topology: Topology, *, keep_traces: bool = False) -> tuple[Arm, ...]:
    """Makes an arm for each delay, and some arms without a delay as their common baseline, which may keep traces."""
    labels = [BASELINE, *(f"{BASELINE}-{number}" for number in range(2, round(math.sqrt(len(delays))) + 1))]
    arms = [Arm(label, topology, parse_switches(trace=1), keeps_traces=keep_traces) for label in labels]
    arms += [
        Arm(delay.label, topology, parse_switches(trace=1, delay=f"{delay.component}:{delay.delay_ms:g}ms"))
        for delay in delays
    ]
    return tuple(arms)


def delays_of(plan: Plan) -> list[InjectedDelay]:
    return [InjectedDelay(component, ms) for arm in plan.arms for component, ms in arm.switches.delay_ms.items()]


def judge(folder: Path, delays: Sequence[InjectedDelay]) -> list[FoundDelay]:
    """Looks for each delay in a run's files. Raises HopsError if the files are incomplete."""
    run = read_run(folder)
    # `read_run` reads only the columns that every run has; crossings on the critical path are an additional column.
    hops = pl.read_parquet(folder / HOPS_FILE)
    done = run.journeys.filter(pl.col("outcome") == "ok")
    # From here on, all trials without a delay count as one arm.
    together = pl.col("topology").str.replace(f"^{BASELINE}-.*$", BASELINE)
    hops = hops.join(done.select("block", "topology", "trace_id"), on=["block", "topology", "trace_id"], how="semi")
    hops = hops.with_columns(together)
    return [_judge_delay(run, hops, delay, rows=len(delays)) for delay in delays]


def _judge_delay(run: RunFiles, hops: pl.DataFrame, delay: InjectedDelay, *, rows: int) -> FoundDelay:
    journey = JOURNEYS[delay.component]
    labels = (delay.label, BASELINE)
    blocks = {label: {row["block"] for row in run.used if row["topology"] == label} for label in labels}
    of_journey = hops.filter(pl.col("journey") == journey)
    sides = {label: of_journey.filter(pl.col("topology") == label) for label in labels}
    differences = hop_differences(sides, {journey: 1}, blocks)
    difference = next((row for row in differences if row["journey"] == journey), None)
    if difference is None:
        raise UsageError(f"{delay.label}: {run.path} lacks traces of {journey} with or without it; measure again")
    own = next((row for row in difference["parts"] if row["part"] == delay.part), None)
    low, high = own["ci95"] if own else (None, None)
    if own is None or low is None or high is None:
        raise UsageError(f"{delay.label}: {run.path} has too few traces of {journey} to detect a delay; measure again")
    (crossings, _, paused_ms), (usual, usual_ms, _) = (_on_path(side, delay.part) for side in sides.values())
    expected = paused_ms + (usual_ms / usual if usual else 0.0) * (crossings - usual)
    joint = _widen((low, high), len(blocks[delay.label] & blocks[BASELINE]), rows)
    parts = sorted(difference["parts"], key=_sure_ms, reverse=True)
    others = [row for row in parts if row["part"] != delay.part]
    return FoundDelay(
        component=delay.component,
        delay_ms=delay.delay_ms,
        journey=journey,
        traces=(difference["traces"][0], difference["traces"][1]),
        crossings=crossings,
        paused_ms=paused_ms,
        expected_ms=expected,
        found_ms=own["difference_ms"],
        ci95=(low, high),
        ci95_joint=joint,
        largest=parts[0]["part"],
        second=others[0]["part"] if others else "",
        second_ms=others[0]["difference_ms"] if others else 0.0,
        whole_ms=difference["difference_ms"],
    )


def _sure_ms(row: PartDifference) -> tuple[float, float]:
    """Returns the smallest change in a part's 95 % interval, in ms, and its measured change, which breaks ties at 0."""
    low, high = row["ci95"]
    sure = 0.0 if low is None or high is None else max(0.0, low, -high)
    return sure, abs(row["difference_ms"])


def _on_path(hops: pl.DataFrame, part: str) -> list[float]:
    """Returns a part's means per journey on the critical path: crossings, their time in ms and their pauses in ms."""
    inside, traces = hops.filter(pl.col("part") == part), max(hops["trace_id"].n_unique(), 1)
    units = {"on_path": 1, "ns": NS_PER_MS, "injected_ns": NS_PER_MS}
    return [int(inside[name].sum()) / unit / traces for name, unit in units.items()]


def _widen(interval: tuple[float, float], blocks: int, rows: int) -> tuple[float, float]:
    """Widens a Student's t interval so that `rows` such intervals hold simultaneously (Bonferroni correction)."""
    alone, together = (stats.t.ppf(1 - (1 - CONFIDENCE) / count / 2, blocks - 1) for count in (1, rows))
    middle, reach = sum(interval) / 2, (interval[1] - interval[0]) / 2 * together / alone
    return middle - reach, middle + reach


def delays_table(rows: Sequence[FoundDelay]) -> Table:
    return table_of(
        "delays",
        f"Injected delays, found by hop differences, {plural(len(rows), 'delay')} at once",
        rows,
        [
            (Column("delay", "ms", numeric=False), lambda row: words(f"{row.component} {row.delay_ms:g}")),
            (Column("journey", numeric=False), lambda row: words(row.journey)),
            (Column("crossings", spare=2), lambda row: Cell(f"{row.crossings:.2f}")),
            (Column("expected", "ms"), lambda row: Cell(f"{row.expected_ms:.3f}")),
            (Column("found", "ms"), lambda row: Cell(f"{row.found_ms:.3f}")),
            (Column("95 % alone", "ms", spare=1), lambda row: Cell("{:.3f} to {:.3f}".format(*row.ci95))),
            (Column("95 % together", "ms"), lambda row: Cell("{:.3f} to {:.3f}".format(*row.ci95_joint))),
            (Column("verdict", numeric=False), lambda row: words("found" if row.holds else "NOT FOUND")),
        ],
    )


def delays_view(rows: Sequence[FoundDelay], path: Path) -> list[Element]:
    """Formats the proof for people, with the gates of the trials in the folder of results."""
    trials = [trial for trial in read_json(path / TRIALS)["trials"] if trial["used"]]
    failing = sum(bool(failing_gates(trial["gates"])) for trial in trials)
    alone = sum(row.agrees(row.ci95) for row in rows)
    verdict = worst_verdict(verdict_of(trial["gates"]) for trial in trials)
    noisy = f"{verdict}: a gate fails in {failing} of {len(trials)} trials; a busy machine makes intervals wide."
    return [
        delays_table(rows),
        Points([f"{row.component} {row.delay_ms:g}: {'; '.join(row.failed)}." for row in rows if not row.holds]),
        Text(
            f"{sum(row.holds for row in rows)} of {len(rows)} delays were found at the right component, with the true "
            f"size inside the interval; {alone} of {len(rows)} are inside the interval of the row alone.",
            tone="verdict",
        ),
        *([Text(noisy)] if failing else []),
    ]


@proves("prove-delays")
def prove_delays(*, hops: str, sizes: str, trials: Trials, given: typer.Context, as_json: Json = False) -> None:
    """Inject known delays and check that the hop budgets show them; fails unless every one is found."""
    trials.prove(
        lambda topology, blocks, seed: proof_plan(parse_delays(hops, sizes), topology, blocks, seed),
        lambda folder, plan: judge(folder, delays_of(plan)),
        describe,
        delays_view,
        name=NAME,
        given=given,
        as_json=as_json,
        retry=RETRY,
    )
