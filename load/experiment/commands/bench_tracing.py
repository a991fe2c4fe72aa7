"""`make bench-tracing`: what tracing costs a REST read, by component."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from experiment.arguments import checked_seed, duration_s, whole_number
from experiment.commands.options import Seed, console, reported_errors
from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Load, Shopload
from experiment.generator.tapes import parity_tape
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.progress import Progress
from experiment.proofs.tracing import TAPE_RATE, USERS, WORKLOAD, Bench
from experiment.proofs.tracing_cost import ComponentCost, Estimate, TracingCost
from experiment.trial.outcome import Clock
from experiment.trial.run import ready
from hops.commands.prove import give
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, estimate, number, words
from mesh.components.shop_processes import Data
from mesh.description.options import Given, Json, TopologyName, takes_switches
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import Channel, Protocol, load_topology
from mesh.native.system import System

MOST_ROUNDS = 100
#: Fewer have no 95 % interval of their median.
LEAST_ROUNDS = 6
WARM_UP_S = 3.0


@takes_switches("bench-tracing")
def bench_tracing_command(
    *,
    topology: TopologyName = "rest",
    switches: Given,
    rounds: Annotated[
        str, typer.Option(help=f"Number of rounds, {LEAST_ROUNDS} to {MOST_ROUNDS}; each runs the load twice.")
    ] = "10",
    duration: Annotated[str, typer.Option(help="Length of each run, 1s to 60s.")] = "4s",
    seed: Seed = "1",
    as_json: Json = False,
) -> None:
    """The command `bench-tracing`; `experiment.cli` has its help."""
    with reported_errors():
        how_often = whole_number("rounds", rounds, LEAST_ROUNDS, MOST_ROUNDS)
        length_s, number_of_tape = duration_s("duration", duration, "1s", "60s"), checked_seed(seed)
        shape, chosen = load_topology(topology), parse_switches(**switches)
        if not shape.client_speaks(Channel.PARTNER).startswith(Protocol.REST):
            raise UsageError(
                f"topology={topology}: its partners do not speak REST, which the reads are; give one whose partners "
                "do, such as rest or hybrid"
            )
        shopload, say = Shopload(BINARY), Progress()
        system = System(shape, chosen, load_ports(os.environ), "bench-tracing", data=Data(chosen.scale, DATA_SEED))
        with TemporaryDirectory(prefix="bench-tracing-") as name:
            folder = Path(name)

            def load(what: str, seconds: float, seed: int) -> Load:
                path = folder / f"{what}.jsonl"
                tape = shopload.tape(WORKLOAD, path, seed=seed, rate=TAPE_RATE, duration_s=seconds, scale=chosen.scale)
                return Load(tape, seconds, USERS)

            parity = parity_tape(shopload, folder / "parity.jsonl", 1, seed=number_of_tape, scale=chosen.scale)
            warm_up = load("warm-up", WARM_UP_S, number_of_tape + 1)
            with ready(system, shopload, parity, warm_up, folder / "system", Clock(), say):
                bench = Bench(system, shopload, load("reads", length_s, number_of_tape), folder)
                cost = bench.measure(how_often, say)
        document = {"topology": shape.name, "edge": chosen.edge, **cost}
        give(document, tracing_view(cost, shape.name), as_json=as_json, console=console())


def tracing_view(cost: TracingCost, topology: str) -> list[Element]:
    """What tracing costs, for people: a row for each component, and the verdict."""
    columns = [
        Column("component", numeric=False),
        Column("untraced", "µs"),
        Column("traced", "µs"),
        Column("more", "µs", interval=True),
        Column("of it, main thread", "µs", spare=1),
        Column("of it, export", "µs"),
        Column("spans"),
        Column("per span", "µs"),
    ]
    rows = [_row(row) for row in (*cost["components"], cost["all"])]
    throughput = cost["throughput"]
    ratio = throughput["ratio"]
    return [
        Table("tracing", f"CPU time per read in {topology}, {cost['rounds']} rounds", columns, rows, totals=1),
        Text(
            "A read is GET /v1/products/{id} through the edge. The figures are medians over the rounds, with 95 % "
            "intervals; what is put off until the load is over, such as the export of spans, is included."
        ),
        Text(
            f"Traced, {throughput['traced']:,.0f} reads per second; untraced, {throughput['untraced']:,.0f}. "
            f"Tracing every read leaves {_percent(ratio)} of the throughput; the target is at least "
            f"{numbers.share(cost['least_ratio'], 0)}. Spans lost: {cost['spans_lost']}.",
            tone="verdict",
        ),
    ]


def _row(row: ComponentCost) -> list[Cell]:
    return [
        words(row["component"]),
        number(row["untraced_us"]),
        number(row["traced_us"]),
        estimate(row["more_us"]["value"], row["more_us"]["ci95"], signed=True),
        number(row["main_thread_us"]["value"], signed=True),
        number(row["export_us"]),
        number(row["spans"]),
        number(row["span_us"]),
    ]


def _percent(ratio: Estimate) -> str:
    return numbers.figure(100 * ratio["value"], [end and 100 * end for end in ratio["ci95"]], "%")
