"""`make compare`: several topologies under one load, in blocks."""

from __future__ import annotations

import typer

from experiment.arguments import checked_seed, number, topologies_of, whole_number, workload_file
from experiment.commands import in_blocks, options
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.edges import edge_arms
from experiment.plan.networks import channel_networks
from experiment.plan.plan import MOST_BLOCKS, Plan, arms_of
from experiment.plan.precision import parse_precision, require_attainable
from experiment.plan.profiles import profile_named
from experiment.results.folder import RESULTS
from experiment.runner import begin, take_up
from hops.kinds.compare.terminal import compare as compare_view
from mesh.description.options import (
    Abort,
    Bandwidth,
    Canary,
    Connections,
    Delay,
    Edge,
    Http,
    Json,
    LoadNodes,
    Mesh,
    Mtls,
    Network,
    Plugins,
    Replicas,
    Rtt,
    Runtime,
    Scale,
    Store,
    Tls,
    Trace,
    Visit,
)
from mesh.description.switches import parse_switches


def compare_command(
    given: typer.Context,
    topologies: options.Topologies = options.COMPARED,
    blocks: in_blocks.Blocks = "12",
    precision: in_blocks.Precision = None,
    profile: in_blocks.Profile = "compare",
    rate: options.Rate = None,
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = None,
    scale: Scale = None,
    edge: Edge = None,
    edges: options.Edges = None,
    plugins: Plugins = None,
    tls: Tls = None,
    mesh: Mesh = None,
    mtls: Mtls = None,
    canary: Canary = None,
    replicas: Replicas = None,
    store: Store = None,
    runtime: Runtime = None,
    load_nodes: LoadNodes = None,
    http: Http = None,
    network: Network = None,
    rtt: Rtt = None,
    bandwidth: Bandwidth = None,
    visit: Visit = None,
    connections: Connections = None,
    delay: Delay = None,
    abort: Abort = None,
    vus: options.Vus = None,
    think: options.Think = None,
    resume: in_blocks.Resume = "",
    retry: in_blocks.Retry = "0",
    as_json: Json = False,
) -> None:
    """The command `compare`; `experiment.cli` has its help."""
    with options.reported_errors():
        repeats = whole_number("retry", retry, 0, in_blocks.MOST_RETRIES)
        if resume:
            in_blocks.refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, resume, "compare")
        else:
            switches = {
                "edge": edge,
                "plugins": plugins,
                "tls": tls,
                "mesh": mesh,
                "mtls": mtls,
                "canary": canary,
                "replicas": replicas,
                "store": store,
                "runtime": runtime,
                "load_nodes": load_nodes,
                "trace": trace,
                "scale": scale,
                "http": http,
                "network": network,
                "rtt": rtt,
                "bandwidth": bandwidth,
                "visit": visit,
                "connections": connections,
                "delay": delay,
                "abort": abort,
            }
            compared = topologies_of(topologies)
            file = workload_file(workload)
            networks = channel_networks(file)
            arms = (
                edge_arms(compared, edges, switches, networks)
                if edges
                else arms_of(compared, parse_switches(networks, **switches))
            )
            if not http and any(arm.switches.edge == "none" for arm in arms):
                typer.echo(
                    "Clients of every arm speak HTTP/1.1: without an edge they reach gateways that speak nothing else.",
                    err=True,
                )
            plan = Plan(
                kind="compare",
                name="compare",
                arms=arms,
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                profile=profile_named(profile, rate=number("rate", rate)),
                seed=checked_seed(seed),
                workload=file,
                closed=parse_closed_loop(vus=vus, think=think, rate=rate),
                precision=parse_precision(precision),
            )
            if plan.precision is not None:
                require_attainable(plan, in_blocks.foreseen(plan))
            folder = begin(plan, RESULTS)
        in_blocks.carry_out(plan, folder, compare_view, retry=repeats, as_json=as_json)
