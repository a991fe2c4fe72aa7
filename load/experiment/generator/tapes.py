"""The tapes of an experiment: counted load, warm-up, and samples for parity."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from experiment.generator.shopload import Shopload, Tape
from experiment.plan.arms_in_blocks import Plan
from mesh.paths import ROOT

EVEN = ROOT / "load" / "workloads" / "even.yaml"
"""Every pair of journey and channel in turn."""
SPOT_CHECK_SAMPLES = 2
"""Samples of each pair, where the same topology was compared in full in an earlier trial of the experiment."""


@dataclass(frozen=True, slots=True)
class Tapes:
    """The tapes of an experiment: the counted one, the warm-up, and two for parity, long and short."""

    parity: Tape
    spot_check: Tape
    warmup: Tape
    load: Tape

    def shas(self) -> dict[str, str]:
        """The SHA-256 of each tape."""
        return {field.name: getattr(self, field.name).sha256 for field in fields(self)}


def make_tapes(shopload: Shopload, plan: Plan, workload: Path, folder: Path) -> Tapes:
    """Makes the tapes that every trial of an experiment shares.

    Args:
        shopload: The generator.
        plan: The experiment; its seed is that of the counted tape, and the others have theirs from it.
        workload: File of the workload.
        folder: Folder of the tapes.
    """
    profile, seed, scale = plan.profile, plan.seed, plan.scale
    rate = profile.rate if plan.closed is None else plan.closed.tape_rate
    folder.mkdir(parents=True, exist_ok=True)
    warmup, load = folder / "warmup.jsonl", folder / "load.jsonl"
    parity, spot_check = profile.parity_samples, min(SPOT_CHECK_SAMPLES, profile.parity_samples)
    warm_s, load_s = profile.warmup_s, profile.duration_s
    return Tapes(
        parity=parity_tape(shopload, folder / "parity.jsonl", parity, seed=seed, scale=scale),
        spot_check=parity_tape(shopload, folder / "spot_check.jsonl", spot_check, seed=seed, scale=scale),
        warmup=shopload.tape(workload, warmup, seed=seed + 1_000_000, rate=rate, duration_s=warm_s, scale=scale),
        load=shopload.tape(workload, load, seed=seed, rate=rate, duration_s=load_s, scale=scale),
    )


def parity_tape(shopload: Shopload, out: Path, samples: int, *, seed: int, scale: int) -> Tape:
    """Makes a tape with every pair of journey and channel `samples` times, on parameters that no load uses."""
    pairs = len(yaml.safe_load(EVEN.read_text(encoding="utf-8"))["mix"])
    return shopload.tape(EVEN, out, seed=seed, rate=pairs * samples, duration_s=1, scale=scale, pool="parity")
