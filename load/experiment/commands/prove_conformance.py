"""`prove conformance`: whether conformance notices seeded faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import typer

from experiment.commands.options import console, reported_errors
from experiment.proofs.conformance import NO_FAULT, Tried, faults_of, prove_conformance
from hops.commands.prove import give
from hops.elements.table import Column, Table, table_of, words
from mesh.description.options import Json, takes_settings


@takes_settings("prove-conformance")
def prove_conformance_command(
    *,
    component: str,
    as_json: Json = False,
) -> None:
    """Run our programs with one seeded fault each; fails unless conformance fails for every fault."""
    with reported_errors():
        faults = faults_of(component)
        typer.echo(f"{len(faults)} faults, about {len(faults) // 10 + 1} min", err=True)
        results = prove_conformance(faults)
        proof = {"holds": all(one.ok for one in results), "rows": [asdict(one) for one in results]}
        give(proof, [faults_table(results)], as_json=as_json, console=console())


def faults_table(results: Sequence[Tried]) -> Table:
    """What conformance says of each fault."""
    seeded = [one for one in results if one.says != NO_FAULT]
    missed = sum(not one.ok for one in results)
    verdict = f"{missed} programs are not judged as they should be" if missed else f"it fails for all {len(seeded)}"
    return table_of(
        "seeded_faults",
        f"What conformance says of programs with a fault each: {verdict}",
        results,
        [
            (Column("component", numeric=False), lambda one: words(one.component)),
            (Column("fault of the program", numeric=False), lambda one: words(one.says)),
            (Column("conformance", numeric=False), lambda one: words(_says(one))),
            (Column("by the law", numeric=False), lambda one: words(one.law)),
        ],
        heads=2,
    )


def _says(one: Tried) -> str:
    said = "fails" if one.fails else "holds"
    return said if one.ok else f"WRONG: {said}"
