"""`make compare-versions a=REV b=REV`: two versions of the shop under one load, in the same blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiment.arguments import choices, whole_number
from experiment.blocks import Makers
from experiment.commands import in_blocks
from experiment.errors import ParityError, UsageError
from experiment.generator.shopload import Shopload
from experiment.generator.tapes import Tapes
from experiment.kinds.two_runs import checked_threshold
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Arm, Plan, arm_of
from experiment.plan.networks import channel_networks
from experiment.trial.outcome import Trial
from experiment.trial.run import run_trial
from hops.kinds.compare_versions.analysis import A, B
from hops.statistics.over_blocks import MIN_BLOCKS
from mesh.components.revisions import Checkout, find_checkout
from mesh.description.options import Given
from mesh.description.topology import load_topology
from mesh.errors import MeshError
from mesh.runtime import Runtime

KIND = "compare-versions"


def run_version(
    system: Runtime, shopload: Shopload, tapes: Tapes, arm: Arm, plan: Plan, folder: Path, **others: Any
) -> Trial:
    """Runs a trial, after checking that the arm's checkout has not changed since the comparison began.

    Raises:
        MeshError: As for `run_trial`; the message about wrong answers names the setting that allows them.
    """
    Checkout(arm.label, folder=arm.topology.checkout, **plan.about["checkouts"][arm.label]).require_unchanged()
    try:
        return run_trial(system, shopload, tapes, arm, plan, folder, **others)
    except ParityError as error:
        raise MeshError(
            f"{error}\nif answers to these journeys are meant to differ, name these: allow-differences=browse,..."
        ) from error


@in_blocks.experiment(KIND, makers=Makers(run=run_version))
def command(
    *,
    a: str,
    b: str,
    topology: str,
    common: in_blocks.Common,
    switches: Given,
    allow_differences: str | None,
    delay_b: str | None,
    threshold: str | None,
) -> Plan:
    base, networks, limit = load_topology(topology), channel_networks(common.file), checked_threshold(threshold, None)
    if limit is not None and whole_number("blocks", common.blocks, 1, MAX_BLOCKS) < MIN_BLOCKS:
        raise UsageError(
            f"blocks={common.blocks} is too few to check threshold={threshold}: give at least {MIN_BLOCKS} blocks"
        )
    kinds = sorted({kind for kind, _ in common.mix})
    allowed = choices("allow-differences", allow_differences, kinds) if allow_differences else []
    delays: Mapping[str, str | None] = {A: None, B: delay_b}
    checkouts = {side: find_checkout(side, given) for side, given in ((A, a), (B, b))}
    arms = tuple(
        arm_of(
            side, base.model_copy(update={"checkout": checkout.folder}), {**switches, "delay": delays[side]}, networks
        )
        for side, checkout in checkouts.items()
    )
    about = {
        "checkouts": {side: {"given": one.given, "commit": one.commit} for side, one in checkouts.items()},
        "allow_differences": allowed,
        "delay_b": delay_b or "",
        "threshold": None if limit is None else limit.share,
    }
    return replace(common.plan(KIND, arms, topology=base), about=about)
