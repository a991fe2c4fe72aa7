"""Checks the conformance tests themselves: they must fail for each of our programs when a fault is seeded in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache

import typer

from experiment.errors import UsageError
from experiment.parity.contract_tests import CONTRACT, HOLDS, PROTOCOLS, SET_UP, SUITES, laws_of, run_suites
from hops.elements.table import Column, Table, table_of, words
from mesh.description.options import Json
from mesh.paths import ROOT
from proofs.outcome import give, proves

FAULTY = (sys.executable, "-m", "faulty")
LIMIT_S = 60
NO_FAULT = "no fault"


@dataclass(frozen=True)
class Fault:
    """A fault of a component, and the law that must fail, by the name of its test."""

    component: str
    says: str
    law: str

    @property
    def test(self) -> str:
        """The law's test by its name in pytest. Raises UsageError unless the suites have it exactly once."""
        suites = [ROOT / suite for suite in (*SET_UP, *CONTRACT, *SUITES[self.component])]
        files = [file for suite in suites for file in (suite.rglob("test_*.py") if suite.is_dir() else [suite])]
        places = [file for file in files if f"def test_{self.law}(" in file.read_text(encoding="utf-8")]
        if len(places) != 1:
            raise UsageError(
                f"{len(places)} suites of {self.component} have a test_{self.law}; exactly one must: adapt load/faulty"
            )
        return f"{places[0].relative_to(ROOT)}::test_{self.law}"


@dataclass(frozen=True)
class ConformanceResult:
    """Result of conformance for a component with or without a fault.

    Attributes:
        says: Description of its fault, or `no fault`.
        law: Law that the fault breaks; without a fault, the number of laws that ran.
        why: The first failed case, with the first line of the reason; empty if no case fails.
    """

    component: str
    says: str
    law: str
    fails: bool
    why: str
    ok: bool


@cache
def seeded_faults() -> tuple[Fault, ...]:
    """Returns all faults, after a check that each can still be seeded. Raises UsageError if one cannot."""
    done = subprocess.run(FAULTY, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603 - ours
    if done.returncode != 0:
        raise UsageError(f"a fault can no longer be seeded: {done.stderr.strip()}")
    return tuple(Fault(**row) for row in json.loads(done.stdout))


def faults_of(component: str) -> list[Fault]:
    """Returns the faults of a component, or all for an empty name. Raises UsageError if there is no such component."""
    faults = seeded_faults()
    if component and component not in (valid := sorted({fault.component for fault in faults})):
        raise UsageError(f"component={component}: this component has no seeded faults; valid: {', '.join(valid)}")
    return [fault for fault in faults if component in ("", fault.component)]


def prove_conformance(faults: Sequence[Fault]) -> list[ConformanceResult]:
    """Runs each fault's law against a component with the fault, and all these laws against faultless components."""
    results = []
    for component in dict.fromkeys(fault.component for fault in faults):
        own = [fault for fault in faults if fault.component == component]
        results += [try_laws(component, None, own), *(try_laws(component, fault, [fault]) for fault in own)]
    return results


def try_laws(component: str, fault: Fault | None, of: Sequence[Fault]) -> ConformanceResult:
    """Runs the laws that belong to faults, against a component with one fault or without a fault."""
    wanted = list(dict.fromkeys(one.test for one in of))
    command = command_of(component, *([fault] if fault else []))
    results = run_suites(component, command, PROTOCOLS[component][:1], wanted)
    laws = laws_of(results)
    why = next((law.failed[0] for law in laws if law.failed), "")
    fails = any(law.failed for law in laws)
    if fault is not None:
        # A program that did not start fails in the test's setup, which pytest reports as an error.
        noticed = next(results.iter("failure"), None) is not None
        return ConformanceResult(component, fault.says, fault.law.replace("_", " "), fails, why, ok=noticed)
    # A skipped law would hold for any program.
    sound = {law.verdict for law in laws} == {HOLDS} and len(laws) == len(wanted)
    return ConformanceResult(component, NO_FAULT, f"{len(laws)} laws", fails, why, ok=sound)


def command_of(component: str, *faults: Fault) -> list[str]:
    """Returns the command line of a component with or without faults."""
    return [*FAULTY, component, *(fault.says for fault in faults)]


@proves("prove-conformance")
def prove_conformance_command(*, component: str, as_json: Json = False) -> None:
    """Run our programs with one seeded fault each; fails unless conformance fails for every fault."""
    faults = faults_of(component)
    typer.echo(f"{len(faults)} faults, about {len(faults) // 10 + 1} min", err=True)
    results = prove_conformance(faults)
    document = {"holds": all(one.ok for one in results), "rows": [asdict(one) for one in results]}
    give(document, [faults_table(results)], as_json=as_json)


def faults_table(results: Sequence[ConformanceResult]) -> Table:
    seeded = [one for one in results if one.says != NO_FAULT]
    missed = sum(not one.ok for one in results)
    verdict = f"{missed} programs are judged wrongly" if missed else f"conformance fails for all {len(seeded)}"
    return table_of(
        "seeded_faults",
        f"Conformance of programs with one seeded fault each: {verdict}",
        results,
        [
            (Column("component", numeric=False), lambda one: words(one.component)),
            (Column("fault of the program", numeric=False), lambda one: words(one.says)),
            (Column("conformance", numeric=False), lambda one: words(_says(one))),
            (Column("by the law", numeric=False), lambda one: words(one.law)),
        ],
        heads=2,
    )


def _says(one: ConformanceResult) -> str:
    verdict = "fails" if one.fails else "holds"
    return verdict if one.ok else f"WRONG: {verdict}"
