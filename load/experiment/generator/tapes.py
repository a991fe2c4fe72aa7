"""The tapes of an experiment: counted load, warm-up, and samples for parity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiment.generator.shopload import Shopload, Tape
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.profiles import Profile
from mesh.paths import ROOT

#: Of `load/workloads/even.yaml`.
PAIRS_OF_JOURNEY_AND_CHANNEL = 9


#: Of each pair, where the same topology was compared in full in an earlier trial of the experiment.
SPOT_CHECK_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Tapes:
    """The tapes of an experiment: the counted one, the warm-up, and two for parity, long and short."""

    parity: Tape
    spot_check: Tape
    warmup: Tape
    load: Tape

    def shas(self) -> dict[str, str]:
        """The SHA-256 of each."""
        return {
            "parity": self.parity.sha256,
            "spot_check": self.spot_check.sha256,
            "warmup": self.warmup.sha256,
            "load": self.load.sha256,
        }


def make_tapes(
    shopload: Shopload,
    workload: Path,
    folder: Path,
    profile: Profile,
    *,
    seed: int,
    scale: int,
    closed: ClosedLoop | None = None,
) -> Tapes:
    """Makes the tapes that every trial of an experiment shares, below `folder`.

    Args:
        shopload: The generator.
        workload: What arrives.
        folder: Where the tapes go.
        profile: How long and how hard.
        seed: Seed of the counted tape; the others use their own, derived from it.
        scale: Size of the data.
        closed: The closed loop that will take the journeys; None if they go at the tape's times.
    """
    rate = profile.rate if closed is None else closed.tape_rate
    folder.mkdir(parents=True, exist_ok=True)
    spot_check = min(SPOT_CHECK_SAMPLES, profile.parity_samples)
    return Tapes(
        parity=parity_tape(shopload, folder / "parity.jsonl", profile.parity_samples, seed=seed, scale=scale),
        spot_check=parity_tape(shopload, folder / "spot_check.jsonl", spot_check, seed=seed, scale=scale),
        warmup=shopload.tape(
            workload,
            folder / "warmup.jsonl",
            seed=seed + 1_000_000,
            rate=rate,
            duration_s=profile.warmup_s,
            scale=scale,
        ),
        load=shopload.tape(
            workload, folder / "load.jsonl", seed=seed, rate=rate, duration_s=profile.duration_s, scale=scale
        ),
    )


def parity_tape(shopload: Shopload, out: Path, samples: int, *, seed: int, scale: int) -> Tape:
    """Makes a tape with every pair of journey and channel `samples` times, on parameters that no load uses."""
    even = ROOT / "load" / "workloads" / "even.yaml"
    return shopload.tape(
        even,
        out,
        seed=seed,
        rate=PAIRS_OF_JOURNEY_AND_CHANNEL * samples,
        duration_s=1,
        scale=scale,
        pool="parity",
    )
