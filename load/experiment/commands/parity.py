"""`parity`: compares the answers and effects of all topologies."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer

from experiment.arguments import checked_seed, topologies_of
from experiment.commands.options import console, reported_errors
from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import parity_tape
from experiment.parity.across import check_topologies, parity_table
from experiment.plan.workload import require_fitting, workload_file
from experiment.progress import Progress
from hops.terminal.render import render
from mesh.components.trial import as_it_runs, require_fit
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import Topology, load_topology, names
from mesh.errors import SwitchError


@takes_settings("parity")
def parity_command(
    *,
    topologies: str,
    samples: Annotated[int, typer.Option(min=1, max=1000)],
    seed: str,
    workload: str,
    switches: Given,
    as_json: Json = False,
) -> None:
    with reported_errors():
        shopload, file = Shopload(BINARY), workload_file(workload)
        given = parse_switches(**switches, trace=0)
        require_fitting(file, given)
        chosen = topologies_of(topologies, updates=given.updates) if topologies else _all_that_fit(given)
        for topology in chosen:
            require_fit(topology, as_it_runs(topology, given))
        done = check_topologies(
            chosen,
            given,
            load_ports(os.environ),
            shopload,
            lambda out: parity_tape(
                shopload, out, samples, seed=checked_seed(seed), scale=given.scale, workload=file, payload=given.payload
            ),
            say=Progress(),
        )
        if as_json:
            typer.echo(json.dumps([asdict(one) for one in done]))
        else:
            console().print(render([parity_table(done)]))


def _all_that_fit(switches: Switches) -> list[Topology]:
    fitting, why = [], ""
    for name in names(updates=switches.updates):
        topology = load_topology(name, updates=switches.updates)
        if topology.programs:  # the programs would have to be built first
            continue
        try:
            require_fit(topology, as_it_runs(topology, switches))
            fitting.append(topology)
        except SwitchError as error:
            why = str(error)
    if not fitting:  # a check of nothing must not pass
        raise UsageError(f"no topology can run with these switches; for example, {why}")
    return fitting
