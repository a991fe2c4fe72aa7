"""`make compare`: several topologies under one load, in blocks."""

from __future__ import annotations

import typer

from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan
from experiment.plan.axis import NO_EDGE, compared_arms
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.networks import channel_networks
from experiment.plan.precision import require_attainable
from mesh.description.options import Given

KIND = "compare"


@in_blocks.experiment(KIND)
def command(
    *,
    topologies: str,
    common: in_blocks.Common,
    switches: Given,
    edges: str | None,
    edge_caches: str | None,
    selections: str | None,
    vus: str | None,
    think: str | None,
) -> Plan:
    compared = common.read_measured(topologies, updates=switches.get("updates") or "off")
    along = {"edges": edges, "edge_caches": edge_caches, "selections": selections}
    arms = compared_arms(compared, along, switches, channel_networks(common.file))
    if not switches["http"] and any(arm.switches.edge == NO_EDGE for arm in arms):
        typer.echo(
            "Clients of every arm speak HTTP/1.1: without an edge they reach gateways, which speak only HTTP/1.1.",
            err=True,
        )
    plan = common.plan(KIND, arms, parse_closed_loop(vus=vus, think=think, rate=common.rate))
    if plan.precision is not None:
        require_attainable(plan, in_blocks.foreseen(plan))
    return plan
