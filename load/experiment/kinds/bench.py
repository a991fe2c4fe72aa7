"""`make topology=hybrid bench`: one trial of one topology, with its figures and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from experiment.blocks import expected_s
from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.networks import channel_networks
from experiment.progress import minutes
from hops.run.documents.summary import Summary
from mesh.description.options import Given
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

KIND = "bench"


def announce(plan: Plan) -> Iterator[str]:
    """Says what will run, and how long it takes."""
    yield f"One trial of {plan.name}, {minutes(expected_s(plan))}. Leave the machine idle until then."


def details(summary: Summary, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Says what a single trial needed, and what identifies its load."""
    yield f"Memory:  {manifest['memory_peak_mb']:,.0f} MiB at most, all components together"
    yield f"Tape:    {summary['tape']['sha256']}"
    yield f"Answers: {summary['tape']['answers_sha256']}"
    yield "Traces:  make trace    (opens this run's p50 and p99 exemplars in Jaeger)"


@in_blocks.experiment(KIND, announce=announce, details=details)
def command(*, topology: str, common: in_blocks.Common, switches: Given, vus: str | None, think: str | None) -> Plan:
    chosen = parse_switches(channel_networks(common.file), **switches)
    measured = load_topology(topology, updates=chosen.updates)
    closed = parse_closed_loop(vus=vus, think=think, rate=common.rate)
    return replace(common.plan(KIND, arms_of([measured], chosen), closed), name=measured.name)
