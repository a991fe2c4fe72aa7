"""Profiles: the length and the rate of a run's trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiment.arguments import float_or_nan, profile_of
from experiment.errors import UsageError

DEFAULT_RATE = 20.0
"""Journeys per second that every topology sustains while sharing two cores with the load generator and tracing."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Length and rate of one trial.

    Attributes:
        warmup_s: Seconds of warm-up load, which are not counted.
        duration_s: Seconds of counted load.
        rate: Mean number of journeys per second, over all channels together.
        parity_samples: Number of journeys of each kind whose answers are compared with the reference before the load.
    """

    name: str
    warmup_s: int
    duration_s: int
    rate: float
    parity_samples: int


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("smoke", warmup_s=4, duration_s=20, rate=DEFAULT_RATE, parity_samples=3),
        Profile("compare", warmup_s=4, duration_s=20, rate=DEFAULT_RATE, parity_samples=10),
        Profile("quick", warmup_s=6, duration_s=60, rate=DEFAULT_RATE, parity_samples=10),
        Profile("full", warmup_s=15, duration_s=300, rate=DEFAULT_RATE, parity_samples=50),
        # Short trials, because `make chaos` runs one for each topology and fault.
        Profile("chaos", warmup_s=2, duration_s=16, rate=DEFAULT_RATE, parity_samples=1),
        # Short trials, because `make rtt` has an arm for each topology and distance.
        Profile("rtt", warmup_s=3, duration_s=11, rate=DEFAULT_RATE, parity_samples=3),
    )
}


def profile_named(name: str, *, rate: str | None = None) -> Profile:
    """Returns a profile, at another rate if one is given; raises UsageError if the name or the rate is not valid."""
    profile = profile_of(PROFILES, name)
    if not rate:
        return profile
    per_s = float_or_nan(rate)
    if not 0 < per_s <= 10_000:
        raise UsageError(f"rate={rate} is not valid: give journeys per second, above 0 and at most 10000")
    return replace(profile, rate=per_s)
