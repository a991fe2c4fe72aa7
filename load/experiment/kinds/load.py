"""`hopwise load`: targets that are not the shop under the shop's load."""

from __future__ import annotations

import os
import ssl
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from experiment.arguments import checked_seed, duration_s, number, whole_number
from experiment.commands import in_blocks, options
from experiment.commands.preflight import Preflight
from experiment.errors import UsageError
from experiment.own_target.addresses import require_mine
from experiment.own_target.file import HERE, Target, TargetFile, read_target
from experiment.own_target.steps import steps_of
from experiment.plan.arms_in_blocks import MOST_BLOCKS, PLAN, Arm, Plan
from experiment.plan.networks import channel_networks
from experiment.plan.profiles import Profile
from experiment.plan.resume import take_up
from experiment.results.folder import RESULTS, ResultsFolder, write_json
from experiment.results.manifest import now
from mesh.description.options import Json, takes_settings
from mesh.description.ports import HOST, Ports, load_ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.native.trace_store import open_trace_store
from mesh.supervisor.signals import Interrupts

KIND = "load"
HIGHEST_RATE = 10_000.0
SHORTEST, LONGEST = "1s", "60m"
USUAL_SHARE = "0.1"
"""Of the journeys that are traced where the target file says where traces are."""


@takes_settings(KIND)
def command(
    *,
    given: typer.Context,
    file: Annotated[str, typer.Argument(metavar="[TARGET.YAML]", help="Target file.")] = "",
    rate: str,
    duration: str,
    warmup: str,
    blocks: str,
    seed: str,
    trace: str,
    target_is_mine: Annotated[
        list[str] | None, typer.Option(help="Host on another machine that you may load; once for each.")
    ] = None,
    from_har: str,
    resume: str,
    retry: str,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `load`; `commands.toml` has its help."""
    with options.reported_errors():
        if from_har:
            _begin_file(Path(from_har), Path(file or "target.yaml"))
            return
        look = Preflight()
        repeats, is_strict = whole_number("retry", retry, 0, in_blocks.MAX_RETRIES), options.is_strict(strict)
        if resume:
            in_blocks.refuse_beside_resume(given)
            look.end()
            folder, plan = take_up(RESULTS, resume, KIND)
            for announced in in_blocks.announcement(plan):
                typer.echo(announced, err=True)
        else:
            if not file:
                raise UsageError("give a target file, such as docs/example/target/library.yaml")
            from experiment.own_target.trial import require_steps  # it takes a second to import

            target = read_target(Path(file))
            length = Profile(
                KIND,
                warmup_s=_seconds("warmup", warmup),
                duration_s=_seconds("duration", duration),
                rate=_rate(rate),
                parity_samples=0,
            )
            plan = plan_of(
                target,
                length,
                whole_number("blocks", blocks, 1, MOST_BLOCKS),
                checked_seed(seed),
                _share(trace, target.target),
                sorted(target_is_mine or []),
            )
            if target.target.traces not in ("", HERE):
                from experiment.own_target.traces import require_store

                require_store(target.target.traces)
            steps = steps_of(target)
            require_steps(steps, target.path)
            look.end(in_blocks.announcement(plan))
            folder = begin(plan, steps)
        _carry_out(plan, folder, retry=repeats, strict=is_strict, as_json=as_json)


def _begin_file(har: Path, out: Path) -> None:
    """Writes a target file to edit."""
    from experiment.own_target.starting_points.document import write_start
    from experiment.own_target.starting_points.har import from_har

    for note in write_start(har, from_har, out):
        typer.echo(f"{out}: {note}.", err=True)
    typer.echo(f"Written: {out}")


def _seconds(name: str, given: str) -> int:
    seconds = duration_s(name, given, SHORTEST, LONGEST)
    if seconds != int(seconds):
        raise UsageError(f"{name}={given} is not valid: give whole seconds, such as 20s")
    return int(seconds)


def _rate(given: str) -> float:
    rate = number("rate", given)
    if rate is None or not 0 < rate <= HIGHEST_RATE:
        raise UsageError(f"rate={given} is out of range: give journeys a second, above 0 and at most {HIGHEST_RATE:g}")
    return rate


def _share(given: str, target: Target) -> float:
    share = number("trace", given or (USUAL_SHARE if target.traces else "0"))
    if share is None or not 0 <= share <= 1:
        raise UsageError(f"trace={given} is not a share from 0 to 1")
    if share and not (target.otlp or target.traces):
        raise UsageError(
            f"trace={given}: the target file must say where the traces are: give traces: {HERE}, or the address of a "
            "Jaeger, Tempo or Zipkin"
        )
    return share


def plan_of(file: TargetFile, profile: Profile, blocks: int, seed: int, trace: float, mine: list[str]) -> Plan:
    """The plan of a target file: an arm for each target.

    Raises:
        UsageError: A target is not on this machine, and nobody said that it may be loaded; or a network is unknown.
    """
    require_mine(file, mine)
    target = file.target
    switches = replace(
        Switches(), edge="none", http=target.http, connections=target.connections, visit=target.visit, trace=trace
    )
    if networks := channel_networks(file.path):
        switches = replace(switches, networks=dict(networks))
    encrypted = any(
        url.split("://")[0] in ("https", "grpcs")
        for place in target.targets.values()
        for url in place.endpoints.values()
    )
    certificate = str(file.beside(target.ca_certificate).resolve()) if target.ca_certificate else ""
    return Plan(
        kind=KIND,
        name=target.name,
        arms=tuple(
            Arm(name, Topology(name=name, about=target.about, entry={}, links={}), switches) for name in target.targets
        ),
        blocks=blocks,
        profile=profile,
        seed=seed,
        workload=file.path,
        about={
            "workload": file.path.name,
            "targets": {name: place.model_dump(mode="json") for name, place in target.targets.items()},
            "sent": {
                "mine": mine,
                "journeys": list(target.journeys),
                "timeout_s": target.timeout,
                "otlp": target.otlp,
                "traces": target.traces if trace else "",
                "ca_certificate": certificate or (ssl.get_default_verify_paths().cafile or "" if encrypted else ""),
            },
        },
    )


STEPS = "workload.yaml"


def begin(plan: Plan, steps: dict[str, Any]) -> ResultsFolder:
    """Makes the folder of a new run, with its plan and steps in it."""
    folder = ResultsFolder.new(RESULTS, plan.name)
    write_json(folder.path / STEPS, steps)
    folder.write_json(PLAN, {**plan.as_document(), "began": now()})
    return folder


def _carry_out(plan: Plan, folder: ResultsFolder, *, retry: int, strict: bool, as_json: bool) -> None:
    # What runs trials takes a second to import, which a wrong option should not have to wait for.
    from experiment.blocks import Makers
    from experiment.own_target.trial import OwnTarget, leaving_nothing, make_tapes, make_target, run_own_trial
    from experiment.runner import run_plan

    interrupts = Interrupts()
    steps, targets = folder.path / STEPS, folder.path / "targets"
    by_label = {arm.label: arm for arm in plan.arms}

    def system(topology: Topology, _switches: Switches, ports: Ports, trial: str, **_: object) -> OwnTarget:
        return make_target(plan, steps, targets, by_label[topology.name], trial, ports)

    makers = Makers(tapes=leaving_nothing(folder)(make_tapes), system=system)
    run = leaving_nothing(folder)(run_own_trial)
    interrupts.install()
    ports, sent = load_ports(os.environ), plan.about["sent"]
    keeps = sent["traces"] and (sent["traces"] == HERE or not sent["otlp"])
    try:
        interrupts.release()
        with open_trace_store(ports) if keeps else nullcontext():
            if sent["traces"] == HERE:
                typer.echo(
                    f"Open for the target's spans: {ports.url('jaeger-otlp-http')} (OTLP over HTTP) and "
                    f"{HOST}:{ports['jaeger-otlp-grpc']} (gRPC).",
                    err=True,
                )
            summary, path = run_plan(plan, folder, ports, retry=retry, run=run, makers=makers)
    finally:
        interrupts.restore()
    in_blocks.show(summary, path, strict=strict, as_json=as_json)
