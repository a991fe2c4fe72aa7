"""`make chaos`: topologies under faults: what fails meanwhile, how soon all is right again, and what their data say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import typer

from experiment.arguments import topologies_of
from experiment.blocks import expected_s
from experiment.commands import options
from experiment.commands.in_blocks import Common, refuse_beside_resume
from experiment.commands.preflight import Preflight
from experiment.errors import UsageError
from experiment.faults.faults import FAULTS, Chosen, chosen, lacking
from experiment.plan.arms_in_blocks import DATA_SEED, PLAN, Arm, Plan, in_comparison
from experiment.plan.own_load import OwnLoad
from experiment.plan.resume import take_up
from experiment.plan.workload import mix_of
from experiment.progress import minutes
from experiment.results.folder import RESULTS, ResultsFolder, read_json
from experiment.results.manifest import manifest_of, now
from experiment.runner import begin, run_trials
from experiment.trial.files import RECORD
from hops.conclusions.wording import plural
from hops.kinds.chaos.document import Document, Struck
from hops.run.documents import SCHEMA
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches

KIND = "chaos"
USUAL = "kill,crash,restart,readonly,rolling"
USUAL_IN_CLUSTER = "evict,drain"
FAILED = 1
"""Exit code if something was lost, doubled or left half done."""


@takes_settings(KIND)
def command(
    *,
    given: typer.Context,
    topologies: str,
    faults: str | None,
    blocks: str,
    rate: str | None,
    seed: str,
    workload: str,
    switches: Given,
    resume: str,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `chaos`; `commands.toml` has its help."""
    with options.reported_errors():
        look, is_strict = Preflight(), options.is_strict(strict)
        elsewhere = [name for name in ("DATABASE_URL", "CACHE_URL") if os.environ.get(name)]
        if elsewhere:
            raise UsageError(f"{' and '.join(elsewhere)}: faults strike stores of the run's own; leave it out")
        if resume:
            refuse_beside_resume(given)
            look.end()
            folder, plan = take_up(RESULTS, resume, KIND)
            typer.echo(_announcement(plan), err=True)
        else:
            common = Common(KIND, blocks=blocks, profile=KIND, seed=seed, workload=workload, rate=rate)
            in_cluster = parse_switches(**switches).in_cluster
            if faults is None:
                faults = USUAL_IN_CLUSTER if in_cluster else USUAL
            if "all" in faults.split(","):
                for kind, needed in lacking(in_cluster=in_cluster).items():
                    typer.echo(f"LEFT OUT: {kind}, which needs {needed}.", err=True)
            plan = with_long_loads(common.plan(KIND, arms_of_faults(topologies, faults, switches)))
            look.end([_announcement(plan)])
            folder = begin(plan, RESULTS)
        _carry_out(plan, folder, strict=is_strict, as_json=as_json)


def arms_of_faults(topologies: str, faults: str, switches: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """An arm for each topology and fault, such as `rest-kill-order`.

    Raises:
        UsageError: A topology, a fault or a switch has a value that it cannot have.
    """
    struck, parsed = topologies_of(topologies, updates="on"), parse_switches(**switches, updates="on")
    return tuple(
        Arm(
            f"{topology.name}-{fault.kind}-{fault.target}",
            topology,
            in_comparison(topology, parsed, struck),
            fault=str(fault),
        )
        for topology in struck
        for fault in chosen(faults, struck, parsed)[topology.name]
    )


def with_long_loads(plan: Plan) -> Plan:
    """The plan with a longer load for faults that take longer than its profile's."""
    mix = tuple((*pair, weight) for pair, weight in mix_of(plan.workload).items())

    def longer(arm: Arm) -> Arm:
        fault = Chosen.named(arm.fault)
        more_s = FAULTS[fault.kind].longer_s(arm.topology, arm.switches, fault.target)
        if not more_s:
            return arm
        sending = replace(plan.sending(arm), duration_s=plan.profile.duration_s + more_s)
        return replace(arm, load=OwnLoad(f"{sending.duration_s:g}-seconds", mix, sending))

    return replace(plan, arms=tuple(map(longer, plan.arms)))


def _announcement(plan: Plan) -> str:
    return (
        f"{plural(len(plan.trials()), 'fault')} of {', '.join(_topologies(plan))}, in random order, "
        f"{minutes(expected_s(plan))}. Ctrl-C keeps what was measured."
    )


def _carry_out(plan: Plan, folder: ResultsFolder, *, strict: bool, as_json: bool) -> None:
    from experiment.faults.trial import run_struck
    from hops.gates.verdict import Doubt, worst_verdict
    from hops.kinds.chaos.report import doubts, elements, gates, wrong
    from hops.terminal.render import rendered

    def conclude() -> tuple[Document, Path]:
        from hops.kinds import make_report

        document = document_of(plan, folder)
        folder.write_json(f"{KIND}.json", document)
        make_report(folder.path)
        return document, folder.publish(latest=False)  # `latest` is what `make trace` looks at: a run with traces

    document, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, run=run_struck)
    if as_json:
        options.print_file(path / f"{KIND}.json")
    else:
        out = options.console()
        out.print(rendered([*elements(document), *gates(document)]))
        for doubt in (*map(Doubt, wrong(document)), *doubts(document)):
            out.print(f"{doubt}.")
        options.print_places(out, path)
    if wrong(document):
        raise SystemExit(FAILED)
    options.end(worst_verdict(doubt.verdict for doubt in doubts(document)), strict=strict)


def document_of(plan: Plan, folder: ResultsFolder) -> Document:
    """What the trials of a plan left, in the order of topologies and faults."""
    from experiment.faults.trial import STRUCK

    seeds = {"tape": plan.seed, "order": plan.seed, "data": DATA_SEED}
    made_of = manifest_of(KIND, folder.final.name, _topologies(plan), plan.arms[0].switches, plan.workload, seeds)
    began = read_json(folder.path / PLAN)["began"]
    struck = []
    for arm in plan.arms:
        for block in range(1, plan.blocks + 1):
            trial = folder.path / "trials" / f"{block}-{arm.label}"
            gates = read_json(trial / RECORD)["gates"]
            one = {"block": block, "topology": arm.topology.name, **read_json(trial / STRUCK), "gates": gates}
            struck.append(cast("Struck", one))
    return Document(
        schema=SCHEMA,
        name=folder.final.name,
        manifest={**made_of, "began": began, "ended": now()},
        blocks=plan.blocks,
        rate=plan.profile.rate,
        struck=struck,
    )


def _topologies(plan: Plan) -> dict[str, Any]:
    return {arm.topology.name: arm.topology for arm in plan.arms}
