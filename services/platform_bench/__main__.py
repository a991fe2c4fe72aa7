"""Measures what the platform adds to a call: `python -m platform_bench`; exit code 0 if it is within its targets."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from functools import partial

from hops.elements.element import Text
from hops.elements.table import Column, Table, estimate, number, words
from hops.terminal.console import terminal
from hops.terminal.render import rendered
from mesh.components.database import POSTGRES, database, postgres_components
from mesh.components.keys import key_pair
from mesh.components.shop_processes import Data, database_task
from mesh.description.ports import load_ports
from mesh.errors import MeshError
from mesh.paths import RunFolder
from mesh.supervisor.run import Run
from platform_bench.cases import CASES, Around, Case
from platform_bench.graphql.cases import DOCUMENT_CASES, DocumentCase
from platform_bench.measure import Measured, Served, measure
from platform_bench.processors import set_apart

LEAST_ROUNDS = 2
LEAST_CALLS = 100
ALL_CASES = (*CASES, *DOCUMENT_CASES)
CAPTION = "CPU time per call, medians over rounds; ratio with its 95 % interval"


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    names = ", ".join(case.name for case in ALL_CASES)
    parser = argparse.ArgumentParser(
        prog="python -m platform_bench",
        description="Measures the CPU time per call of the shop's components against bare frameworks that do the same "
        "work, in interleaved rounds: services on a real PostgreSQL, the GraphQL gateway on services that answer from "
        "memory. Exits with 1 if a ratio is above its target.",
    )
    parser.add_argument("--cases", default="", help=f"names of cases with commas between them (default all: {names})")
    parser.add_argument("--rounds", type=int, default=10, help="number of rounds, at least 2 (default 10)")
    parser.add_argument(
        "--calls",
        type=int,
        default=6000,
        help="calls per round and side, an even number of at least 100 (default 6000); a GraphQL document counts as "
        "20 calls",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def main(argv: Sequence[str]) -> int:
    """Runs a command line; returns its exit code: 0 if all cases pass, 1 if one does not, 2 if it could not run."""
    parser = arguments()
    options = parser.parse_args(argv)
    cases = _chosen(parser, options.cases)
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds is {options.rounds}; it must be at least {LEAST_ROUNDS}")
    if options.calls < LEAST_CALLS or options.calls % 2:
        parser.error(f"--calls is {options.calls}; it must be an even number of at least {LEAST_CALLS}")
    try:
        results = _measured_processes(
            [case for case in cases if isinstance(case, Case)], options.rounds, options.calls
        ) + [
            _measured_document(case, options.rounds, options.calls) for case in cases if isinstance(case, DocumentCase)
        ]
    except MeshError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\n{interrupt or 'stopped'}", file=sys.stderr)
        return 130
    holds = all(one.passes for one in results)
    if options.json:
        print(json.dumps({"holds": holds, "cases": [one.as_dict() for one in results]}, indent=2))
    else:
        terminal().print(rendered([_table(results), Text(_verdict(results), "verdict")]))
    return 0 if holds else 1


def _chosen(parser: argparse.ArgumentParser, given: str) -> list[Case | DocumentCase]:
    known = {case.name: case for case in ALL_CASES}
    names = given.split(",") if given else list(known)
    for name in names:
        if name not in known:
            parser.error(f"there is no case {name!r}; valid: {', '.join(known)}")
    return [known[name] for name in names]


def _measured_document(case: DocumentCase, rounds: int, calls: int) -> Measured:
    gateway, core = case.sides()
    count = max(calls // case.weight // 2 * 2, 2)
    say = partial(_say, case.name, rounds)
    return measure(case.name, gateway, core, most=case.most, rounds=rounds, calls=count, progress=say)


def _measured_processes(cases: Sequence[Case], rounds: int, calls: int) -> list[Measured]:
    if not cases:
        return []
    ports = load_ports(os.environ)
    folder = RunFolder.of(ports.base)
    server = database(ports, os.environ, folder)
    around = Around(ports, server, key_pair(folder))
    sides = {case.name: (case.shop(around), case.bare(around)) for case in cases}
    store = postgres_components(folder, ports) if server.embedded else []
    components = [
        *store,
        database_task(server, Data(), after=frozenset(item.name for item in store)),
        *(side.component for pair in sides.values() for side in pair),
    ]
    results = []
    with Run(ports, folder, [POSTGRES] if server.embedded else [], lambda: components) as run:
        pids = run.pids()
        measured = {name: pids[name][0] for pair in sides.values() for name in (side.component.name for side in pair)}
        beside = {pid for processes in pids.values() for pid in processes} - set(measured.values())
        with set_apart(measured.values(), beside):
            for case in cases:
                shop, bare = (Served(measured[side.component.name], side.calls) for side in sides[case.name])
                say = partial(_say, case.name, rounds)
                results.append(measure(case.name, shop, bare, most=case.most, rounds=rounds, calls=calls, progress=say))
                run.check()
    return results


def _say(case: str, rounds: int, number: int) -> None:
    print(f"\r{case}: round {number} of {rounds}", end="" if number < rounds else "\n", file=sys.stderr)


def _table(results: Sequence[Measured]) -> Table:
    columns = [
        Column("case", numeric=False),
        Column("shop", "µs per call"),
        Column("bare", "µs per call"),
        Column("ratio", interval=True),
        Column("target"),
        Column("", numeric=False),
    ]
    rows = [
        [
            words(one.case),
            number(statistics.median(one.shop_us)),
            number(statistics.median(one.bare_us)),
            estimate(one.ratio, one.interval),
            number(one.most),
            words("ok" if one.passes else "ABOVE", "" if one.passes else "bad"),
        ]
        for one in results
    ]
    return Table("platform_bench", CAPTION, columns, rows)


def _verdict(results: Sequence[Measured]) -> str:
    above = [one.case for one in results if not one.passes]
    return f"Above the target: {', '.join(above)}." if above else "Every case is within its target."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
