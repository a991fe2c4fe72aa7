"""Which part of the hop budget became slower or faster from version a to version b.

Both versions run in each block, so the machine's changes over hours and days cancel in their ratio. All figures are one
family of tests: the mean of traced journeys, p50 and p99 of all journeys, and every part of at least `MIN_SHARE` of the
mean. After Holm's correction, equal versions show a difference in at most 5 % of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict, cast

import numpy as np
import polars as pl

from hops.analysis.comparisons import describe_contrast
from hops.analysis.hop_differences import TracedMeans
from hops.analysis.latencies import Latencies, pair_sections
from hops.run.documents.difference import Tested
from hops.statistics.contrast import contrast, visible_ratio
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import Section, refusal
from hops.units import ALL

A, B = "a", "b"
WHOLE, PERCENTILES = "mean of traced journeys", ("p50", "p99")
MIN_SHARE = 0.01
"""Minimum share of the mean for a part to be tested: each test reduces the power of the others."""


class VersionRow(Tested):
    """One figure of the mix, ms: `difference` is b minus a, and `ratio` the geometric mean of b / a over blocks.

    `what` is a part of the hop budget, `WHOLE`, or a percentile of all journeys. `beyond` says whether b is shown to be
    slower by more than the threshold.
    """

    what: str
    a: float | None
    b: float | None
    verdict: Literal["slower", "faster", "not_shown", "unknown"]
    beyond: bool
    reason: str | None


class Versions(TypedDict):
    """The part of a summary that only a comparison of versions has; `threshold` is a share; `delay` is injected into b.

    `checkouts` has the name given by the user and the commit, for `a` and for `b`. `allowed` are journeys whose answers
    were not compared.
    """

    checkouts: dict[str, dict[str, str]]
    delay: str
    allowed: list[str]
    threshold: float | None
    rows: list[VersionRow]


def versions_in(summary: Mapping[str, Any]) -> Versions:
    """Gives the part of a summary that only a comparison of versions has."""
    return cast("Versions", summary["versions"])


def version_rows(
    latencies: Mapping[str, Latencies],
    hops: Mapping[str, pl.DataFrame],
    load: Mapping[str, float],
    threshold: float | None = None,
) -> list[VersionRow]:
    """Tests all figures of the mix: whole and percentiles, then parts, largest first; `hops` as in `Measured`."""
    blocks = sorted(latencies[A].blocks & latencies[B].blocks)
    of_b, of_a = pair_sections(latencies[B], latencies[A], ALL, blocks, blocks)
    sections = {name: (of_b[name], of_a[name]) for name in PERCENTILES} | _sections_of_parts(hops, load, blocks)
    rows = [_row(what, *sides) for what, sides in sections.items()]
    tests = {(row["what"], A, B): row for row in rows if row["p"] is not None}
    for test, result in correct_tests({test: row["p"] or 0.0 for test, row in tests.items()}).items():
        row = tests[test]
        row["p_corrected"], row["verdict"] = result.p, "not_shown"
        ratio, (low, high), freedom = row["ratio"], row["ratio_ci95"], row["freedom"]
        if result.p < SIGNIFICANCE and ratio:
            row["verdict"] = "slower" if ratio > 1 else "faster"
        if ratio and high is not None and freedom is not None:
            row["visible_ratio"] = visible_ratio(ratio, high, freedom, result.level)
        if threshold is not None and row["verdict"] == "slower":
            row["beyond"] = low is not None and low > 1 + threshold
    leading = (WHOLE, *PERCENTILES)
    return sorted(
        rows,
        key=lambda row: (
            leading.index(row["what"]) if row["what"] in leading else len(leading),
            -((row["a"] or 0.0) + (row["b"] or 0.0)),
        ),
    )


def _sections_of_parts(
    hops: Mapping[str, pl.DataFrame], load: Mapping[str, float], blocks: list[int]
) -> dict[str, tuple[Section, ...]]:
    """Makes the sections of the whole and of its larger parts, for b and for a."""
    parts = sorted({part for frame in hops.values() for part in frame["part"].unique()})
    names = sorted(load)
    sides = [TracedMeans(hops[side], names, blocks, parts) for side in (B, A)]
    traced = (sides[0].traces > 0) & (sides[1].traces > 0)
    weights = np.array([load[name] for name in names], dtype=np.float64) * traced
    if not weights.sum():
        return {}
    weights /= weights.sum()
    reason = refusal(len(blocks), int(min(side.traces[traced].sum() for side in sides)), None)
    means = [weights @ side.means for side in sides]
    blocks_of = [mean + np.tensordot(weights, side.deviations, axes=1) for mean, side in zip(means, sides, strict=True)]
    both = list(zip(means, blocks_of, strict=True))
    of_each = np.mean(means, axis=0)
    rows = {WHOLE: tuple(_section(float(mean.sum()), of.sum(axis=1), reason) for mean, of in both)}
    for index in np.flatnonzero(of_each >= MIN_SHARE * of_each.sum()):
        rows[parts[index]] = tuple(_section(float(mean[index]), of[:, index], reason) for mean, of in both)
    return rows


def _section(value: float, by_block: Floats, reason: str | None) -> Section:
    if reason is None and not (by_block > 0).all():
        reason = "a block spends no time there"
    return Section(value, np.empty(0) if reason else by_block, reason)


def _geometric(section: Section) -> Section:
    if section.reason is not None:
        return section
    return replace(section, value=float(np.exp(np.log(section.by_block).mean())))


def _row(what: str, b: Section, a: Section) -> VersionRow:
    """Tests a figure by the geometric mean of its blocks' ratios.

    If versions are equal, they are interchangeable within a block, so the logarithms of these ratios are symmetric
    around 0, even if some trials are slow. The ratio of means over all blocks would depend on the slowest trials.
    """
    result, ratio = contrast(b, a), contrast(_geometric(b), _geometric(a))
    result = replace(result, ratio=ratio.ratio, ratio_interval=ratio.ratio_interval, p=ratio.p, freedom=ratio.freedom)
    return VersionRow(
        what=what,
        a=a.value,
        b=b.value,
        **describe_contrast(result, None),
        verdict="unknown",
        beyond=False,
        reason=result.reason,
    )
