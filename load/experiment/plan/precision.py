"""`precision=5%`: its valid values, and an estimate of the blocks and the time that it needs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from experiment.arguments import percentage
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan
from experiment.progress import minutes
from experiment.results.folder import read_json
from hops.errors import HopsError
from hops.run.documents import SCHEMA
from hops.units import ALL

if TYPE_CHECKING:
    from hops.analysis.precision import Decided

Figure = TypeVar("Figure")
"""A figure from a finished run."""
USUAL_SCATTER = 0.05
"""Expected scatter of the p50 of trials, as a share, if no earlier run shows their scatter."""
PERCENT = 0.01, 50
"""Range of a precision, in percent."""


def parse_precision(given: str | None) -> float | None:
    """Reads a precision such as `5%` as a share, or None without one; raises UsageError for any other text."""
    return percentage("precision", given, *PERCENT, "5%") if given else None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Estimate of the blocks and the time that a plan with a precision needs.

    Attributes:
        scatter: Expected scatter of the p50 of trials, as a share.
        known_from: Name of the run in which trials scattered so much; empty if no run shows their scatter.
        attainable: The precision that the maximum number of blocks would give.
    """

    scatter: float
    known_from: str
    blocks: int
    seconds: float
    attainable: float

    @property
    def cause(self) -> str:
        """States the assumption behind the estimate."""
        known_from = f", as in {self.known_from}" if self.known_from else ""
        return f"if trials scatter by {percent(self.scatter)}{known_from}"


def foresee(plan: Plan, results: Path, block_s: float) -> Foreseen:
    """Estimates the blocks and the time that a plan with a precision needs.

    Args:
        plan: The experiment; its blocks are the first stage.
        results: The folder of all results; the newest finished run in it with the same arms and profile shows how far
            trials scatter.
    """
    # Statistics take a while to import, so wrong options are reported before this import.
    from hops.statistics.two_stage import blocks_for, foreseen_half_width, half_width_of

    assert plan.precision is not None
    scatter, known_from = next(_of_runs_like(plan, results, _scatter), (USUAL_SCATTER, ""))
    half_width = foreseen_half_width(scatter, len(plan.arms), plan.blocks)
    blocks = blocks_for(half_width, plan.blocks, half_width_of(plan.precision))
    attainable = math.expm1(half_width * math.sqrt(plan.blocks / MAX_BLOCKS))
    return Foreseen(scatter, known_from, blocks, blocks * block_s, attainable)


def require_attainable(plan: Plan, foreseen: Foreseen) -> None:
    """Checks that a plan is likely to reach its precision.

    Raises:
        UsageError: The precision would need more blocks than an experiment may have. The message says how long it would
            take, and which precision is within reach.
    """
    assert plan.precision is not None
    if foreseen.blocks > MAX_BLOCKS:
        blocks = float(f"{foreseen.blocks:.2g}")
        known = "" if foreseen.known_from else "; a finished run with the same settings would show their scatter here"
        raise UsageError(
            f"precision={percent(plan.precision, '')} would take about {blocks:,.0f} blocks, "
            f"{minutes(foreseen.seconds)}, {foreseen.cause}{known}. An experiment has at most {MAX_BLOCKS} blocks, "
            f"which give a precision of about {percent(foreseen.attainable)}"
        )


def decision_sentence(decided: Decided) -> str:
    """Says what the first stage decided, but not how long the further blocks will take."""
    ran, needed, precision = decided.ran, decided.needed, f"precision={percent(decided.asked, '')}"
    if decided.scatter is None or needed is None:
        return f"{ran} blocks give no interval, so it is unknown how many blocks {precision} takes: ending here"
    cause = f"trials of the first {ran} blocks scatter by {percent(decided.scatter)}: "
    if needed > MAX_BLOCKS:
        return cause + f"{precision} takes {needed:,} blocks, and at most {MAX_BLOCKS} are run: ending here"
    if needed == ran:
        return cause + f"{precision} is reached"
    return cause + f"{needed} blocks will do for {precision} if the others scatter alike"


def percent(share: float, space: str = " ") -> str:
    """Formats a share as a percentage, with two significant digits."""
    return f"{100 * share:.2g}{space}%"


def visible_sentence(plan: Plan, results: Path) -> str:
    """Says which difference of p50 over all journeys a plan's blocks are likely to show, in percent and ms."""
    visible = next(_of_runs_like(plan, results, _visible), None)
    blocks = f"{plan.blocks} blocks"
    if visible is None:
        return (
            f"Which difference {blocks} can show is unknown until the first blocks have run: no finished run in "
            "results/ has the same arms and load."
        )
    (ratio, ms, before), name = visible
    share = math.expm1(math.log(ratio) * math.sqrt(before / plan.blocks))
    return (
        f"If trials scatter as in {name}, {blocks} show a difference of {percent(share)} ({ms * share:.2g} ms) between "
        "two p50 over all journeys, with a probability of 80 %."
    )


def _visible(summary: Mapping[str, Any]) -> tuple[float, float, int] | None:
    """Returns the largest visible ratio of p50 over all journeys, the median p50 in ms, and the number of blocks."""
    rows = [row for row in summary["comparisons"] if (row["journey"], row["metric"]) == (ALL, "p50")]
    ratios = [row["visible_ratio"] for row in rows]
    if not ratios or None in ratios:
        return None
    medians = [one["journeys"][ALL]["latency_ms"]["p50"] for one in summary["topologies"].values()]
    return max(ratios), statistics.median(medians), summary["blocks"]


def _of_runs_like(
    plan: Plan, results: Path, figure: Callable[[Mapping[str, Any]], Figure | None]
) -> Iterator[tuple[Figure, str]]:
    """Yields a figure from each finished run that is like the plan, and the run's name; the newest run comes first."""
    from hops.run.files import MANIFEST, SUMMARY, read_document

    for path in sorted(results.glob(f"2*-{plan.name}*/{MANIFEST}"), reverse=True):
        try:
            if _is_like(plan, read_json(path)) and (value := figure(read_document(path.parent / SUMMARY))):
                yield value, path.parent.name
        except (HopsError, UsageError, KeyError, TypeError):
            # An estimate must not fail because of another version's files.
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
