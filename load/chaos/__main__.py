"""Runs the kill test: `python -m chaos --kills 200`; exit code 0 if nothing was lost, done twice or left half done."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chaos.kills import Outcome, run_kills
from chaos.shop import Shop
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import SERVICES
from mesh.errors import MeshError, SwitchError
from mesh.paths import RunFolder
from shop.database.audit import print_table


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m chaos",
        description="Kills the order service at random moments while customers check out, then audits the shop.",
    )
    parser.add_argument("--kills", type=_positive, default=200, help="number of kills (default 200, about 4 minutes)")
    parser.add_argument(
        "--replicas", default="", help="replicas of services, as order:2,product:2 (default one of each)"
    )
    parser.add_argument("--customers", type=_positive, default=8, help="number of concurrent customers (default 8)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the kill times and the purchases (default 1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def main(argv: Sequence[str]) -> int:
    """Runs a command line; returns its exit code: 0 if all is well, 1 if something is broken, 2 if it could not run."""
    options = arguments().parse_args(argv)
    try:
        ports = replace(load_ports(os.environ), replicas=replicas(options.replicas))
        folder = RunFolder.of(ports.base)
        journal = folder.path / "chaos.jsonl"
        with Shop(ports, folder) as shop:
            outcome = run_kills(
                shop,
                journal,
                kills=options.kills,
                customers=options.customers,
                seed=options.seed,
                progress=lambda number: print(f"\rkilled {number} of {options.kills}", end="", file=sys.stderr),
            )
            print(file=sys.stderr)
    except MeshError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\n{interrupt or 'stopped'}", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(outcome.as_dict(), indent=2))
    else:
        _print(outcome)
    return 0 if outcome.ok else 1


def replicas(given: str) -> Mapping[str, int]:
    """Reads how many replicas each service has.

    Raises:
        SwitchError: It is none of the numbers that a service can have, or names what does not run here.
    """
    counts = parse_switches(replicas=given).replicas
    if idle := sorted(set(counts) - set(SERVICES)):
        raise SwitchError(
            f"replicas={given}: the kill test does not run {' and '.join(idle)}; it runs {', '.join(SERVICES)}."
        )
    return counts


def _print(outcome: Outcome) -> None:
    print(
        f"{outcome.kills} kills in {outcome.wall_s:.0f} s, {outcome.restart_s:.2f} s on average until it answered again"
    )
    print(f"{outcome.kills_in_saga} kills interrupted {sum(outcome.interrupted.values())} sagas:")
    for what, count in outcome.interrupted.items():
        print(f"  {count:6,} {what}")
    print("what the customers saw:")
    for what, count in outcome.customers.items():
        print(f"  {count:6,} {what}")
    print(f"waited {outcome.recovery_s:.1f} s after the last restart for interrupted sagas to end")
    for what, count in outcome.left.items():
        print(f"  STILL UNDER WAY: {count} {what}")
    for what in outcome.wrong:
        print(f"  WRONG: {what}")
    print_table("the shop after the kills", outcome.findings)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer ≥ 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
