"""What a treatment adds, by redrawing the treated rows: medians as by hand, and how often intervals are right."""

from __future__ import annotations

import numpy as np
import pytest

from hops.statistics.randomisation import DRAWS, Effect, effect_of, stratum_of


def in_bursts(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Latencies of neighbours that wait together: bursts, which begin at random, add much to ten consecutive rows."""
    burst = np.convolve(rng.random(rows) < 0.02, np.ones(10))[:rows] * rng.pareto(1.5, rows) * 20
    return rng.lognormal(1, 0.4, rows) + burst


def draw_strata(rng: np.random.Generator, shares: tuple[float, ...] = (0.15, 0.2, 0.4), rows: int = 30):
    """Draws two kinds of journeys in trials; later trials are slower, and have more treated rows."""
    strata = []
    for kind in (1.0, 5.0):
        values = np.concatenate([kind * 1.3**trial * in_bursts(rng, rows) for trial in range(len(shares))])
        treated = np.concatenate([rng.random(rows) < share for share in shares])
        stratum = stratum_of(treated, np.repeat(np.arange(len(shares)), rows), rng)
        strata.append((stratum, values))
    return strata


def test_an_interval_excludes_0_in_one_of_twenty_experiments_without_an_effect():
    rng = np.random.default_rng(1)
    intervals = [effect_of(draw_strata(rng)).interval for _ in range(160)]
    left_out = sum((low or 0) > 0 or (high or 0) < 0 for low, high in intervals)
    # 8 are expected, and 2.8 is one standard deviation.
    assert 3 <= left_out <= 13


def test_what_is_added_to_the_treated_moves_the_interval_by_itself():
    strata = draw_strata(np.random.default_rng(2))
    found = effect_of(strata)
    more = effect_of([(stratum, values + 7 * stratum.treated) for stratum, values in strata])
    assert more.value == pytest.approx(found.value + 7)
    assert more.interval == pytest.approx([end + 7 for end in found.interval])
    assert found.interval[0] < found.value < found.interval[1]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("rows", [40, 41])
def test_draws_treat_as_many_in_each_trial_and_their_medians_are_those(share, rows):
    rng = np.random.default_rng(3)
    trials, treated, values = rng.integers(0, 3, rows), rng.random(rows) < share, rng.lognormal(1, 1, rows)
    stratum = stratum_of(treated, trials, rng)
    smaller = treated if stratum.others.shape[1] == treated.sum() else ~treated
    differences = stratum.differences(values, 0.5)
    assert len(set(map(tuple, np.sort(stratum.others, axis=1)))) > DRAWS / 2
    for others, difference in zip(stratum.others[:50], differences[:50], strict=True):
        labels = np.zeros(rows, bool)
        labels[others] = True
        assert all(labels[trials == trial].sum() == smaller[trials == trial].sum() for trial in range(3))
        again = labels if smaller is treated else ~labels
        without = values - 0.5 * treated
        assert difference == pytest.approx(np.median(without[again]) - np.median(without[~again]))


def test_an_effect_is_found_below_far_larger_differences_between_kinds():
    rng = np.random.default_rng(5)
    strata = []
    for centre in (1.0, 10.0, 200.0):
        treated = np.arange(500) < 100
        stratum = stratum_of(treated, np.zeros(500), rng)
        strata.append((stratum, rng.normal(centre, 0.3, 500) + 0.5 * treated))
    found = effect_of(strata)
    assert found.value == pytest.approx(0.5, abs=0.1)
    assert 0.3 < found.interval[0] < found.value < found.interval[1] < 0.7


def test_nothing_is_reported_with_fewer_than_five_on_either_side():
    rng = np.random.default_rng(1)
    assert stratum_of(np.arange(100) < 4, np.zeros(100), rng) is None
    assert stratum_of(np.arange(100) >= 4, np.zeros(100), rng) is None
    assert effect_of([]) == Effect(None, (None, None))


@pytest.mark.parametrize(
    "treated_of_trials",
    [
        # For none of these was another draw possible.
        [(20, 20), (20, 0)],
        # A treatment of one row in four is not rare enough.
        [(20, 20), (20, 0), (4, 1)],
        # Whichever of the hundred rows is treated, the other twenty rows decide where the median is.
        [(20, 20), (100, 1)],
    ],
)
def test_an_interval_has_no_ends_if_trials_could_hardly_have_drawn_otherwise(treated_of_trials):
    rng = np.random.default_rng(3)
    trials = np.repeat(np.arange(len(treated_of_trials)), [rows for rows, _ in treated_of_trials])
    treated = np.concatenate([np.arange(rows) < many for rows, many in treated_of_trials])
    stratum = stratum_of(treated, trials, rng)
    found = effect_of([(stratum, rng.lognormal(1, 1, treated.size))])
    assert found.value is not None
    assert found.interval == (None, None)
