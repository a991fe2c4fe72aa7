"""The tapes of an experiment: counted load, warm-up, and samples for parity."""

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
"""Every pair of journey and channel in turn."""
WARMUP, LOAD = "warmup", "load"
SEEDS_APART = 2_000_000
"""Between the seeds of two draws; that of the warm-up lies between them."""
SPOT_CHECK_SAMPLES = 2
"""Samples of each pair, where the same topology was compared in full in an earlier trial of the experiment."""


@dataclass(frozen=True, slots=True)
class Load:
    """The tapes that arms of one rate and mix share: the warm-up, and the counted one."""

    warmup: Tape
    load: Tape


@dataclass(frozen=True, slots=True)
class Tapes:
    """The tapes of an experiment: two for parity, long and short, and the loads by `Arm.tape`."""

    parity: Tape
    spot_check: Tape
    loads: Mapping[str, Load]

    def shas(self) -> dict[str, str]:
        """The SHA-256 of each tape."""
        of_loads = {
            f"{kind}{name.removeprefix(LOAD)}": getattr(load, kind).sha256
            for name, load in self.loads.items()
            for kind in (WARMUP, LOAD)
        }
        return {"parity": self.parity.sha256, "spot_check": self.spot_check.sha256, **of_loads}


def make_tapes(shopload: Shopload, plan: Plan, workload: Path, folder: Path) -> Tapes:
    """Makes the tapes that every trial of an experiment shares.

    Args:
        shopload: The generator.
        plan: The experiment; its seed is that of the counted tape, and the others have theirs from it.
        workload: File of the workload.
        folder: Folder of the tapes.
    """
    seed, scale = plan.seed, plan.scale
    folder.mkdir(parents=True, exist_ok=True)
    parity = plan.profile.parity_samples
    spot_check = min(SPOT_CHECK_SAMPLES, parity)

    def compared(name: str, samples: int) -> Tape:
        out = folder / f"{name}.jsonl"
        return parity_tape(shopload, out, samples, seed=seed, scale=scale, workload=workload, payload=plan.payload)

    arms = {arm.tape: arm for arm in plan.arms}
    return Tapes(
        parity=compared("parity", parity),
        spot_check=compared("spot_check", spot_check),
        loads={name: load_tapes(shopload, plan, arm, workload, folder) for name, arm in arms.items()},
    )


def load_tapes(shopload: Shopload, plan: Plan, arm: Arm, workload: Path, folder: Path, *, steps: bool = False) -> Load:
    """Makes the tapes of an arm's load.

    Args:
        shopload: The generator.
        plan: The experiment.
        arm: The arm.
        workload: File of the workload, or of the steps of a target.
        folder: Folder of the tapes.
        steps: Whether it is a file of steps.
    """

    def made(kind: str, seed: int, duration_s: float, rate: float) -> Tape:
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
        warmup=made(WARMUP, plan.seed + 1_000_000, sending.warmup_s, sending.warm_rate or sending.rate),
        load=made(LOAD, plan.seed + draw * SEEDS_APART, sending.duration_s, sending.rate),
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
    """Makes a tape with every pair of journey and channel `samples` times, on parameters that no load uses.

    Args:
        shopload: The generator.
        out: File of the tape.
        samples: Samples of each pair.
        seed: Seed of the parameters.
        scale: Size of the data.
        workload: File of a workload, whose journeys are there even if the usual ones do not include them.
        payload: Size of the documents that journeys read.
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
        mix,
        out,
        seed=seed,
        rate=len(even["mix"]) * samples,
        duration_s=1,
        scale=scale,
        pool="parity",
        payload=payload,
    )
