"""How much faster other journeys are without one kind of journey: measured, and predicted from meetings with it.

**Measured** is the mean latency with that kind minus the mean without it, over the same journeys of the tape in the
same block. Its interval is over blocks only, because it is for this tape alone. **Predicted** comes from the arm
`as-is`: how much longer journeys take with one of that kind in flight, times the share of such journeys. A pause
lengthens the flight, so the regression uses two-stage least squares: the instrument is an earlier arrival of the kind.

The intervals of the prediction, and of measured minus predicted, are clustered by blocks and by stretches of the tape
(Cameron, Gelbach and Miller, *J. Business & Economic Statistics* 29, 2011): the sum of both variances, minus that over
the stretches of single blocks. Each is a jackknife of the figure itself, so that common effects cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.analysis.meetings import MIN_MEETINGS, STRETCHES, arrivals_of, during, met
from hops.kinds.isolate.document import AS_IS, OTHERS, Isolation, IsolationRow
from hops.run.documents.estimate import Estimate, agreement
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import NO_INTERVAL, Spread, refusal
from hops.units import NS_PER_MS

Labels = npt.NDArray[np.int64]


def isolation_of(journeys: Mapping[str, pl.DataFrame], disturber: str) -> Isolation:
    """Measures and predicts each arm's gain, for all other kinds of journey and for each; journeys as in `Measured`."""
    as_is = arrivals_of(journeys[AS_IS]).filter(pl.col("journey") != disturber)
    if met(disturber) not in as_is.columns:  # the tape is too short to have such a journey
        as_is = as_is.with_columns(pl.lit(value=False).alias(name(disturber)) for name in (met, during))
    rows = []
    for arm, of_arm in journeys.items():
        if arm == AS_IS:
            continue
        ended = of_arm.filter(pl.col("outcome") == "ok").select(
            "block", "seq", other_ms=pl.col("latency_ns") / NS_PER_MS
        )
        both = as_is.join(ended, on=["block", "seq"]).with_columns(gain=pl.col("ms") - pl.col("other_ms"))
        kinds = {kind: both.filter(pl.col("journey") == kind) for kind in sorted(both["journey"].unique())}
        rows += [_row(arm, name, some, disturber) for name, some in {OTHERS: both, **kinds}.items() if some.height]
    return Isolation(disturber=disturber, rows=rows)


def _row(arm: str, journey: str, rows: pl.DataFrame, disturber: str) -> IsolationRow:
    meetings, blocks = int(rows[met(disturber)].sum()), rows["block"].n_unique()
    reason = refusal(blocks, rows.height, None)
    known = reason is None
    cells = _Cells.of(rows, disturber)
    predicted = difference = None
    if _are_enough(meetings, rows.height):
        share = float(rows[during(disturber)].cast(pl.Float64).mean())  # type: ignore[arg-type]
        predicted = cells.estimate(lambda sums: share * sums.longer, known=known)
        difference = cells.estimate(lambda sums: sums.gain - sums.during * sums.longer, known=known)
    else:
        reason = (
            f"too few: {meetings:,} of {rows.height:,} journeys met a {disturber}, and a prediction needs "
            f"{MIN_MEETINGS} that did and {MIN_MEETINGS} that did not"
        )
    return IsolationRow(
        arm=arm,
        journey=journey,
        journeys=rows.height,
        meetings=meetings,
        measured=cells.estimate(lambda sums: sums.gain, known=known, over_stretches=False),
        predicted=predicted,
        difference=difference,
        verdict=agreement(NO_INTERVAL if difference is None else difference["ci95"]),
        reason=reason,
    )


def _are_enough(meetings: int, journeys: int) -> bool:
    return MIN_MEETINGS <= meetings <= journeys - MIN_MEETINGS


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums from which all figures follow, for several selections of journeys.

    Args:
        totals: A row per selection: number of journeys, how many arrived while the disturber was in flight, and total
            gain, ms.
        square: Products of instruments and causes; the disturber comes first in both.
        right: Products of instruments and latencies.
    """

    totals: Floats
    square: Floats
    right: Floats

    @property
    def gain(self) -> Floats:
        """Mean gain, ms."""
        return np.asarray(self.totals[:, 2] / self.totals[:, 0])

    @property
    def during(self) -> Floats:
        """Share of journeys that arrived while the disturber was in flight."""
        return np.asarray(self.totals[:, 1] / self.totals[:, 0])

    @property
    def longer(self) -> Floats:
        """How much longer journeys took if they arrived while the disturber was in flight, ms."""
        return np.asarray((np.linalg.pinv(self.square) @ self.right[:, :, None])[:, 0, 0])


@dataclass(frozen=True, slots=True)
class _Cells:
    """Sums of each stretch of the tape in each block: a cell has a block, a stretch and its sums."""

    block: Labels
    stretch: Labels
    sums: _Sums

    @classmethod
    def of(cls, rows: pl.DataFrame, disturber: str) -> _Cells:
        """Makes the cells of some journeys; the regression omits kinds that were met too rarely, or nearly always."""
        met_kinds = [name.removeprefix(met("")) for name in rows.columns if name.startswith(met(""))]
        others = [kind for kind in met_kinds if kind != disturber]
        enough = [disturber, *(kind for kind in others if _are_enough(int(rows[met(kind)].sum()), rows.height))]
        columns = [*map(met, enough), *map(during, enough), "ms"]
        within = rows.with_columns(pl.col(name).cast(pl.Float64) for name in columns).with_columns(
            (pl.col(name) - pl.col(name).mean().over("block", "journey")).alias(f"{name} within") for name in columns
        )
        stretch = pl.col("seq") * STRETCHES // (pl.col("seq").max() + 1)
        of_cells = within.with_columns(stretch=stretch).sort("block", "stretch")
        labels = of_cells.select("block", "stretch").to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(labels, axis=0) != 0).any(axis=1)]))
        instruments, causes = (
            of_cells.select(f"{name(kind)} within" for kind in enough).to_numpy() for name in (met, during)
        )
        totals = of_cells.select(pl.lit(1.0).alias("journeys"), during(disturber), "gain").to_numpy()
        latencies = of_cells["ms within"].to_numpy()
        sums = (totals, instruments[:, :, None] * causes[:, None, :], instruments * latencies[:, None])
        block, of_tape = labels[starts].T
        return cls(block, of_tape, _Sums(*(np.add.reduceat(one, starts) for one in sums)))

    def estimate(self, figure: Callable[[_Sums], Floats], *, known: bool, over_stretches: bool = True) -> Estimate:
        """Computes a figure, with its interval over blocks, or over blocks and stretches, if `known`."""
        value = float(figure(self._of(np.ones((1, len(self.block)))))[0])
        if not known:
            return Estimate(value=value, ci95=list(NO_INTERVAL))
        groups = [self.block]
        if over_stretches:
            groups = [self.block, self.stretch, np.arange(len(self.block))]
        return Estimate(value=value, ci95=list(_spread([self._jackknife(figure, of) for of in groups]).around(value)))

    def _jackknife(self, figure: Callable[[_Sums], Floats], groups: Labels) -> tuple[float, int]:
        """Computes the variance of a figure by leaving out one group of cells at a time, and its degrees of freedom."""
        values = figure(self._of((groups != np.unique(groups)[:, None]).astype(np.float64)))
        return (len(values) - 1) * float(values.var()), len(values) - 1

    def _of(self, kept: Floats) -> _Sums:
        """Adds up the cells that each row of zeros and ones selects."""
        totals, square, right = (
            np.tensordot(kept, of, 1) for of in (self.sums.totals, self.sums.square, self.sums.right)
        )
        return _Sums(totals, square, right)


def _spread(variances: Sequence[tuple[float, int]]) -> Spread:
    """Combines variances by one clustering, or two and their intersection (degrees of freedom: Satterthwaite 1946)."""
    (blocks, of_blocks), *others = variances
    if not others:
        return Spread(blocks**0.5, of_blocks)
    (stretches, of_stretches), (cells, _) = others
    both = blocks + max(stretches - cells, 0.0)
    terms = blocks**2 / of_blocks + stretches**2 / of_stretches
    return Spread(both**0.5, max(both**2 / terms, of_blocks) if terms else of_blocks)
