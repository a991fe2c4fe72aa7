"""`precision=5%`: what may be asked for, and what it is likely to take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan
from experiment.progress import minutes
from experiment.results.folder import read_json
from hops.errors import HopsError
from hops.run.documents import SCHEMA
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.units import ALL

if TYPE_CHECKING:
    from hops.analysis.precision import Decided

Figure = TypeVar("Figure")
"""What is looked up in a finished run."""
USUAL_SCATTER = 0.05
"""How far a trial's p50 is expected to scatter if no earlier run says so, as a share."""
TIGHTEST, LOOSEST = 0.0001, 0.5


def parse_precision(given: str | None) -> float | None:
    """Reads a precision such as `5%`, as a share; None if none was given.

    Raises:
        UsageError: It is no percentage, or out of range.
    """
    if not given:
        return None
    try:
        share = float(given.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not given.endswith("%") or not TIGHTEST <= share <= LOOSEST:
        raise UsageError(
            f"precision={given} is not valid: give percent from {TIGHTEST:.2%} to {LOOSEST:.0%}, such as 5%"
        )
    return share


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a plan with a precision is likely to take.

    Attributes:
        scatter: How far a trial's p50 is expected to scatter, as a share.
        known_from: Name of the run that scattered so; empty if no run says so.
        blocks: Number of blocks.
        seconds: How long they take.
        attainable: The precision that the most blocks would give.
    """

    scatter: float
    known_from: str
    blocks: int
    seconds: float
    attainable: float

    @property
    def cause(self) -> str:
        """What the expectation rests on."""
        if self.known_from:
            return f"if trials scatter by {percent(self.scatter)} as in {self.known_from}"
        return f"if trials scatter by {percent(self.scatter)}"


def foresee(plan: Plan, results: Path, block_s: float) -> Foreseen:
    """Works out what a plan with a precision is likely to take.

    Args:
        plan: The experiment; its blocks are those of the first stage.
        results: The folder of all results: the newest finished run with the same arms and profile says how far trials
            scatter.
        block_s: How long a block takes, in seconds.
    """
    # Statistics take a while to import, which a wrong option should not have to wait for.
    from hops.statistics.two_stage import blocks_for, foreseen_half_width, half_width_of

    assert plan.precision is not None
    scatter, known_from = _scatter_of_last_run(plan, results) or (USUAL_SCATTER, "")
    half_width = foreseen_half_width(scatter, len(plan.arms), plan.blocks)
    blocks = blocks_for(half_width, plan.blocks, half_width_of(plan.precision))
    attainable = math.expm1(half_width * math.sqrt(plan.blocks / MAX_BLOCKS))
    return Foreseen(scatter, known_from, blocks, blocks * block_s, attainable)


def require_attainable(plan: Plan, foreseen: Foreseen) -> None:
    """Checks that a precision is likely to be reached.

    Raises:
        UsageError: It would take more blocks than an experiment may have; says how long it would take, and which
            precision is within reach.
    """
    assert plan.precision is not None
    if foreseen.blocks > MAX_BLOCKS:
        blocks = float(f"{foreseen.blocks:.2g}")
        known = "" if foreseen.known_from else "; a finished run with the same settings would say how far they do here"
        raise UsageError(
            f"precision={percent(plan.precision, '')} would take about {blocks:,.0f} blocks, "
            f"{minutes(foreseen.seconds)}, {foreseen.cause}{known}. At most {MAX_BLOCKS} blocks are run, which give "
            f"about {percent(foreseen.attainable)}"
        )


def decision_sentence(decided: Decided) -> str:
    """What was decided, without how long it will take."""
    ran, needed, precision = decided.ran, decided.needed, f"precision={percent(decided.asked, '')}"
    if decided.scatter is None or needed is None:
        return f"{ran} blocks give no interval, so it is not known how many {precision} takes: ending here"
    told = f"trials of the first {ran} blocks scatter by {percent(decided.scatter)}: "
    if needed > MAX_BLOCKS:
        return told + f"{precision} takes {needed:,} blocks, and at most {MAX_BLOCKS} are run: ending here"
    if needed == ran:
        return told + f"{precision} is reached"
    return told + f"{needed} blocks will do for {precision} if the others scatter alike"


def percent(share: float, space: str = " ") -> str:
    """A share as percent, to two digits."""
    return f"{100 * share:.2g}{space}%"


def visible_sentence(plan: Plan, results: Path) -> str:
    """Which difference of p50 over all journeys the blocks of a plan are likely to show, in percent and ms.

    Args:
        plan: The experiment.
        results: The folder of all results: the newest finished run with the same arms and profile says how far trials
            scatter, and how long journeys take.
    """
    found = next(_of_runs_like(plan, results, _visible), None)
    blocks = f"{plan.blocks} blocks"
    if found is None:
        return (
            f"Which difference {blocks} can show is unknown until the first have run: no finished run in results/ has "
            "the same arms and load."
        )
    (ratio, ms, before), name = found
    share = math.expm1(math.log(ratio) * math.sqrt(before / plan.blocks))
    return (
        f"If trials scatter as in {name}, {blocks} show a difference of {percent(share)} ({ms * share:.2g} ms) between "
        "two p50 over all journeys, with a probability of 80 %."
    )


def _visible(summary: Mapping[str, Any]) -> tuple[float, float, int] | None:
    """The largest visible ratio of the pairs' p50 over all journeys, the median p50, ms, and the number of blocks."""
    rows = [row for row in summary["comparisons"] if (row["journey"], row["metric"]) == (ALL, "p50")]
    ratios = [row["visible_ratio"] for row in rows]
    if not ratios or None in ratios:
        return None
    medians = [one["journeys"][ALL]["latency_ms"]["p50"] for one in summary["topologies"].values()]
    return max(ratios), statistics.median(medians), summary["blocks"]


def _scatter_of_last_run(plan: Plan, results: Path) -> tuple[float, str] | None:
    """How far trials scattered in the newest finished run that is like the plan, and its name."""
    return next(_of_runs_like(plan, results, _scatter), None)


def _of_runs_like(
    plan: Plan, results: Path, figure: Callable[[Mapping[str, Any]], Figure | None]
) -> Iterator[tuple[Figure, str]]:
    """A figure of the finished runs that are like the plan and have it, with their names, the newest first."""
    for path in sorted(results.glob(f"2*-{plan.name}*/{MANIFEST}"), reverse=True):
        try:
            if _is_like(plan, read_json(path)):
                value = figure(read_document(path.parent / SUMMARY))
                if value:
                    yield value, path.parent.name
        except (HopsError, UsageError, KeyError, TypeError):
            # An estimate must not fail because of what another version wrote.
            continue


def _scatter(summary: Mapping[str, Any]) -> float | None:
    if "precision" in summary:
        known: float | None = summary["precision"]["scatter"]
        return known
    from hops.analysis.precision import half_widths
    from hops.statistics.two_stage import scatter_of

    widths = half_widths(summary["comparisons"])
    return scatter_of(widths, summary["blocks"]) if widths else None


def _is_like(plan: Plan, manifest: dict[str, Any]) -> bool:
    profile = manifest["profile"]
    return bool(
        manifest["schema"] == SCHEMA
        and manifest["kind"] == plan.kind
        and manifest["arms"] == {arm.label: arm.switches.as_dict() for arm in plan.arms}
        and (profile["warmup_s"], profile["duration_s"]) == (plan.profile.warmup_s, plan.profile.duration_s)
        and (plan.closed is not None or profile["rate"] == plan.profile.rate)
        and manifest["closed"] == (None if plan.closed is None else asdict(plan.closed))
        and manifest["workload"] == plan.workload.name
    )
