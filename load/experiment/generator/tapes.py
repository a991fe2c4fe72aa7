"""The tapes of an experiment: counted load, warm-up, and samples for the parity check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from experiment.generator.shopload import DEFAULT_PAYLOAD, Shopload, Tape
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.workload import mix_of
from mesh.paths import ROOT

EVEN = ROOT / "load" / "workloads" / "even.yaml"
"""The workload that sends every pair of journey and channel, one after another."""
WARMUP, LOAD = "warmup", "load"
SEEDS_APART = 2_000_000
"""Difference between the seeds of two draws; the warm-up's seed lies in between."""
SPOT_CHECK_SAMPLES = 2
"""Samples of each pair of journey and channel if an earlier trial of the experiment checked the topology in full."""


@dataclass(frozen=True, slots=True)
class Load:
    """The tapes for warm-up and counted load, which arms with the same rate and mix share."""

    warmup: Tape
    load: Tape


@dataclass(frozen=True, slots=True)
class Tapes:
    """The tapes of an experiment: a long and a short tape for the parity check, and the loads by `Arm.tape`."""

    parity: Tape
    spot_check: Tape
    loads: Mapping[str, Load]

    def shas(self) -> dict[str, str]:
        """Returns the SHA-256 of each tape."""
        of_loads = {
            f"{kind}{name.removeprefix(LOAD)}": getattr(load, kind).sha256
            for name, load in self.loads.items()
            for kind in (WARMUP, LOAD)
        }
        return {"parity": self.parity.sha256, "spot_check": self.spot_check.sha256, **of_loads}


def make_tapes(shopload: Shopload, plan: Plan, workload: Path, folder: Path) -> Tapes:
    """Makes the tapes that every trial of an experiment shares."""
    seed, scale = plan.seed, plan.scale
    folder.mkdir(parents=True, exist_ok=True)
    parity = plan.profile.parity_samples
    spot_check = min(SPOT_CHECK_SAMPLES, parity)

    def make_parity(name: str, samples: int) -> Tape:
        out = folder / f"{name}.jsonl"
        return parity_tape(shopload, out, samples, seed=seed, scale=scale, workload=workload, payload=plan.payload)

    arms = {arm.tape: arm for arm in plan.arms}
    return Tapes(
        parity=make_parity("parity", parity),
        spot_check=make_parity("spot_check", spot_check),
        loads={name: load_tapes(shopload, plan, arm, workload, folder) for name, arm in arms.items()},
    )


def load_tapes(shopload: Shopload, plan: Plan, arm: Arm, workload: Path, folder: Path, *, steps: bool = False) -> Load:
    """Makes the tapes of an arm's load; with `steps`, `workload` is a file of a target's steps."""

    def make(kind: str, seed: int, duration_s: float, rate: float) -> Tape:
        out = folder / f"{kind}{arm.tape.removeprefix(LOAD)}.jsonl"
        file = workload
        if arm.load is not None and arm.load.mix:
            file = folder / f"{arm.tape}.yaml"
            file.write_text(yaml.safe_dump(arm.load.as_workload(), sort_keys=False), encoding="utf-8")
        return shopload.tape(
            file,
            out,
            seed=seed,
            rate=rate,
            duration_s=duration_s,
            scale=plan.scale,
            payload=arm.switches.payload,
            without=arm.without,
            stairs=arm.load.stairs if arm.load is not None and kind == LOAD else (),
            steps=steps,
        )

    sending, draw = plan.sending(arm), 0 if arm.load is None else arm.load.draw
    return Load(
        warmup=make(WARMUP, plan.seed + 1_000_000, sending.warmup_s, sending.warm_rate or sending.rate),
        load=make(LOAD, plan.seed + draw * SEEDS_APART, sending.duration_s, sending.rate),
    )


def parity_tape(
    shopload: Shopload,
    out: Path,
    samples: int,
    *,
    seed: int,
    scale: int,
    workload: Path = EVEN,
    payload: str = DEFAULT_PAYLOAD,
) -> Tape:
    """Makes a tape that has every pair of journey and channel `samples` times, with parameters that no load uses.

    Args:
        workload: File of a workload whose journeys are added to the usual journeys.
    """
    even = yaml.safe_load(EVEN.read_text(encoding="utf-8"))
    usual = {pair["journey"] for pair in even["mix"]}
    even["mix"] += [
        {"journey": journey, "channel": channel, "weight": 1}
        for journey, channel in mix_of(workload)
        if journey not in usual
    ]
    mix = out.with_suffix(".yaml")
    mix.write_text(yaml.safe_dump(even), encoding="utf-8")
    return shopload.tape(
        mix, out, seed=seed, rate=len(even["mix"]) * samples, duration_s=1, scale=scale, pool="parity", payload=payload
    )
