"""Correction for multiple comparisons, so that the chance of any false difference is at most 5 %.

The comparisons of one figure form families: the pairs of systems over the whole mix, and in each journey. Two rules
limit the chance of any false difference over all of them to 5 %. They do so for any combination of true differences
and any dependence between the tests (closed testing: Marcus, Peritz and Gabriel, *Biometrika* 63, 1976):

- **Within a family**, the correction is only for what can be true at the same time: if a equals b and b equals c, then
a equals c. Bonferroni's test of each such set gives the procedure of Bergmann and Hommel (in *Multiple Hypotheses
Testing*, Springer 1988), which completes Shaffer's idea (*JASA* 81, 1986).
- **Between families**, the mix has most of the 5 %, and the journeys share the rest. A family passes its
share on if all of its pairs are shown to differ: the mix to the journeys, and a journey to the other journeys (Bretz,
Maurer, Brannath and Posch, *Statistics in Medicine* 28, 2009).

ADR 029 has the measured error rates and power of this and of the alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hops.statistics.intervals import Floats
from hops.units import ALL

#: For each metric, the maximum share of experiments that show a difference although there is none.
SIGNIFICANCE = 0.05
#: The mix's share of `SIGNIFICANCE`, as long as there are journeys to test too.
MIX_SHARE = 0.75
#: Maximum number of systems for which all ways of being equal are enumerated; above it, every set of pairs counts
#: (Holm, 1979).
_MAX_SYSTEMS = 8

_Sets = npt.NDArray[np.bool_]


#: One comparison: its subject (`all`, or a journey), and the two systems.
Pairing = tuple[str, str, str]


class Corrected(NamedTuple):
    """Result of correcting one test.

    Args:
        p: Corrected p value; a difference is shown if it is below `SIGNIFICANCE`.
        level: The difference would be shown if the test's own p were below this, with all other p unchanged.
    """

    p: float
    level: float


class _Scenario(NamedTuple):
    """A possible set of families whose pairs are not all shown to differ, from the viewpoint of one family.

    Args:
        share: This family's share of the 5 %.
        others: Minimum, over the other families, of a family's largest p divided by its share. Below 5 %, that family
            passes its share on.
    """

    share: float
    others: float


class _Family:
    """Systems that are compared with each other, in one journey.

    Args:
        tests: Tests between these systems.
        p: P value of each test.
    """

    def __init__(self, tests: Sequence[Pairing], p: Floats) -> None:
        self.tests, self._p = tests, p
        self.is_mix = tests[0][0] == ALL
        names = sorted({name for test in tests for name in test[1:]})
        pairs = tuple((names.index(left), names.index(right)) for _, left, right in tests)
        self._sets = _equal_together(pairs) if len(names) <= _MAX_SYSTEMS else _largest(p)
        self._sizes = self._sets.sum(axis=1)
        self.corrected: Floats = np.where(self._sets, self._smallest(self._sets)[:, None], 0.0).max(axis=0)
        self.last = float(self.corrected.max())

    def divisor(self, index: int, level: float) -> int:
        """Computes by what to divide a significance level for one test, given what the family's other tests show."""
        others = self._sets.copy()
        others[:, index] = False
        open_sets = self._sets[:, index] & (self._smallest(others) > level)
        return int(self._sizes[open_sets].max())

    def _smallest(self, sets: _Sets) -> Floats:
        return np.asarray(np.where(sets, self._p, np.inf).min(axis=1) * self._sizes)


def correct_tests(p_values: Mapping[Pairing, float]) -> dict[Pairing, Corrected]:
    """Corrects the tests of one figure.

    Args:
        p_values: P value of every test; systems with equal names are the same.
    """
    families = [_Family(tests, np.array([p_values[test] for test in tests])) for tests in _families(p_values)]
    results: dict[Pairing, Corrected] = {}
    for family in families:
        scenarios = _scenarios(family, [other for other in families if other is not family])
        share = min(one.share for one in scenarios if one.others > SIGNIFICANCE)
        for index, test in enumerate(family.tests):
            p = max(min(family.corrected[index] / one.share, one.others) for one in scenarios)
            level = SIGNIFICANCE * share
            results[test] = Corrected(min(float(p), 1.0), level / family.divisor(index, level))
    return results


def _families(tests: Iterable[Pairing]) -> list[list[Pairing]]:
    """Groups tests by journey; tests that no chain of comparisons connects are in separate groups."""
    families: list[list[Pairing]] = []
    for test in tests:
        joined = [one for one in families if any(_linked(test, other) for other in one)]
        families = [one for one in families if one not in joined]
        families.append([*(other for one in joined for other in one), test])
    return families


def _linked(test: Pairing, other: Pairing) -> bool:
    return test[0] == other[0] and not {*test[1:]}.isdisjoint(other[1:])


def _scenarios(family: _Family, rivals: Sequence[_Family]) -> list[_Scenario]:
    """Lists a scenario for each number of other families that may remain: the families with the largest p."""
    mixes, journeys = (
        sorted((rival.last for rival in rivals if rival.is_mix == is_mix), reverse=True) for is_mix in (True, False)
    )
    scenarios = []
    for mix_count in range(len(mixes) + 1):
        for journey_count in range(len(journeys) + 1):
            counts = (mix_count + family.is_mix, journey_count + (not family.is_mix))
            others = [mixes[mix_count - 1] / _share(True, *counts)] if mix_count else []
            others += [journeys[journey_count - 1] / _share(False, *counts)] if journey_count else []
            scenarios.append(_Scenario(_share(family.is_mix, *counts), min(others, default=np.inf)))
    return scenarios


def _share(is_mix: bool, mixes: int, journeys: int) -> float:
    """Computes one family's share of the 5 % if this many families are left."""
    if is_mix:
        return (MIX_SHARE if journeys else 1.0) / mixes
    return (1 - MIX_SHARE if mixes else 1.0) / journeys


@lru_cache
def _equal_together(pairs: tuple[tuple[int, int], ...]) -> _Sets:
    """Lists which pairs can be equal at the same time: a row for each way to partition systems into equal sets."""
    groupings: list[tuple[int, ...]] = [()]
    for _ in range(1 + max(map(max, pairs))):
        groupings = [(*one, group) for one in groupings for group in range(max(one, default=-1) + 2)]
    group_of: Any = np.array(groupings)
    left, right = np.array(pairs).T
    sets = np.unique(group_of[:, left] == group_of[:, right], axis=0)
    return np.asarray(sets[sets.any(axis=1)])


def _largest(p: Floats) -> _Sets:
    """Selects the decisive sets of tests: each test with each number of other tests, those with the largest p."""
    ranks = np.argsort(np.argsort(-p))
    largest = ranks < np.arange(p.size)[:, None]
    return np.asarray((largest[:, None, :] | np.eye(p.size, dtype=bool)).reshape(-1, p.size))
