"""`hopwise load`: puts load on targets that are not the shop, for as long as the user specifies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiment import arguments
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.own_target.measured import switches_given
from experiment.plan.arms_in_blocks import Plan, arms_of, read_switches
from experiment.plan.networks import channel_networks
from experiment.plan.profiles import Profile

KIND = "load"
SHORTEST, LONGEST = "1s", "60m"


@in_blocks.experiment(KIND)
def command(
    *,
    file: Annotated[str, typer.Argument(metavar="[TARGET.YAML]", help="Target file.")] = "",
    duration: str,
    warmup: str,
    trace: str,
    from_har: str,
    common: in_blocks.Common,
) -> Plan:
    if from_har:
        _begin_file(Path(from_har), Path(file or "target.yaml"))
        raise SystemExit(0)
    common = replace(common, target=file)
    if common.own is None:
        raise UsageError("give a target file, such as docs/example/target/library.yaml")
    warmup_s, duration_s = _seconds("warmup", warmup), _seconds("duration", duration)
    targets, given = common.read_measured(""), switches_given(common.own, {"trace": trace})
    arms = arms_of(targets, read_switches(targets, given, channel_networks(common.file)))
    plan = common.plan(KIND, arms)
    profile = Profile(KIND, warmup_s, duration_s, plan.profile.rate, parity_samples=0)
    return replace(plan, name=common.own.target.name, profile=profile)


def _begin_file(har: Path, out: Path) -> None:
    """Writes a target file for the user to edit."""
    from experiment.own_target.har import write_start

    for note in write_start(har, out):
        typer.echo(f"{out}: {note}.", err=True)
    typer.echo(f"Written: {out}")


def _seconds(name: str, given: str) -> int:
    seconds = arguments.duration_s(name, given, SHORTEST, LONGEST)
    if seconds != int(seconds):
        raise UsageError(f"{name}={given} is not valid: give whole seconds, such as 20s")
    return int(seconds)
