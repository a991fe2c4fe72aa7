"""Runs a plan on targets that are already running."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from experiment.blocks import WORKLOAD, Makers
from experiment.own_target.file import HERE, Place, read_target
from experiment.own_target.steps import steps_of
from experiment.plan.arms_in_blocks import PLAN, Plan
from experiment.results.folder import ResultsFolder, write_json
from experiment.results.manifest import now
from experiment.runner import run_plan
from hops.run.documents.summary import Summary
from mesh.description.ports import HOST, Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.native.trace_store import open_trace_store


def begin_targets(plan: Plan, results: Path) -> ResultsFolder:
    """Makes the folder of a new run on targets, with its plan and steps.

    The plan has only the targets that the user chose, and may have targets of several files.
    """
    file = read_target(plan.workload)
    targets = {name: Place.model_validate(place) for name, place in plan.about["targets"].items()}
    steps = steps_of(replace(file, target=file.target.model_copy(update={"targets": targets})))
    folder = ResultsFolder.new(results, plan.name)
    write_json(folder.path / WORKLOAD, steps)
    folder.write_json(PLAN, {**plan.as_document(), "began": now()})
    return folder


def run_targets(plan: Plan, folder: ResultsFolder, ports: Ports, *, makers: Makers, **how: Any) -> tuple[Summary, Path]:
    """Runs a plan on targets; other arguments and errors are those of `run_plan`.

    Args:
        folder: The open folder, which contains the steps.
        ports: Ports of the run's own Jaeger.
        makers: Factories, of which only `choose` is used.
    """
    # This import takes a second, so wrong options are reported before it.
    from experiment.own_target.trial import OwnTarget, leaving_nothing, make_tapes, make_target, run_own_trial

    steps, sent = folder.path / WORKLOAD, plan.about["sent"]

    def system(topology: Topology, switches: Switches, ports: Ports, trial: str, **_: object) -> OwnTarget:
        return make_target(plan, steps, folder.path / "targets", topology.name, switches, trial, ports)

    makers = replace(
        makers, tapes=leaving_nothing(folder)(make_tapes), system=system, run=leaving_nothing(folder)(run_own_trial)
    )
    keeps = sent["traces"] and (sent["traces"] == HERE or not sent["otlp"])
    with open_trace_store(ports) if keeps else nullcontext():
        if sent["traces"] == HERE:
            typer.echo(
                f"Listening for the target's spans: {ports.url('jaeger-otlp-http')} (OTLP over HTTP) and "
                f"{HOST}:{ports['jaeger-otlp-grpc']} (gRPC).",
                err=True,
            )
        return run_plan(plan, folder, ports, makers=makers, **how)
