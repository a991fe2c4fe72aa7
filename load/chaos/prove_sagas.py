"""The kill test, `python -m chaos.prove_sagas`; exit code 3 if something was lost, done twice or left unfinished."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from chaos.customers import ANSWER_LIMIT_S
from chaos.kills import Outcome, run_kills
from chaos.shop import TOPOLOGY, Shop
from dataset.audit import print_table
from experiment.commands.options import end, in_ci
from hops.run.documents.gate import NOISY
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.errors import SwitchError
from mesh.paths import RunFolder
from mesh.supervisor.reporting import reported

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_settings("prove-sagas")
def kill(
    *,
    kills: Annotated[int, typer.Option(min=1)],
    switches: Given,
    customers: Annotated[int, typer.Option(min=1)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Kill order and notification at random moments of checkouts, then audit. Exit code 3 if something is wrong."""
    with reported():
        ports = replace(load_ports(os.environ), replicas=replicas(switches["replicas"] or ""))
        folder = RunFolder.of(ports.base)
        with Shop(ports, folder) as shop:
            outcome = run_kills(
                shop,
                folder.path / "sagas.jsonl",
                kills=kills,
                customers=customers,
                seed=seed,
                progress=lambda number: print(f"\rkilled {number} of {kills}", end="", file=sys.stderr),
            )
            print(file=sys.stderr)
    if as_json:
        typer.echo(json.dumps(outcome.as_dict(), indent=2))
    else:
        _print(outcome)
    end(outcome.verdict, strict=in_ci())


def replicas(given: str) -> Mapping[str, int]:
    """Reads how many replicas each service has.

    Raises:
        SwitchError: It is none of the numbers that a service can have, or names what does not run here.
    """
    counts = parse_switches(replicas=given).replicas
    if idle := sorted(set(counts) - set(TOPOLOGY.services)):
        raise SwitchError(
            f"replicas={given}: the kill test does not run {' and '.join(idle)}; it runs "
            f"{', '.join(TOPOLOGY.services)}."
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
    if outcome.unanswered:
        print(
            f"  {outcome.unanswered} calls were repeated in vain for {ANSWER_LIMIT_S:g} s; other programs used "
            f"{outcome.other_cores:.1f} cores"
        )
    if outcome.verdict == NOISY:
        print("NOT SHOWN: the machine was busy, and nothing was lost. Repeat it while the machine is idle.")
    print_table("the shop after the kills", outcome.findings)


if __name__ == "__main__":
    app()
