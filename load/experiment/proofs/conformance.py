"""Whether conformance notices what it should: it must fail for every copy of our programs with a seeded fault."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiment.errors import UsageError
from experiment.parity.conformance import HOLDS, laws_of, run_suites
from experiment.proofs.seeded_faults import FAULTS, Fault
from mesh.components.shop_processes import module_of
from mesh.paths import ROOT

PACKAGES = {"shop": "services", "rest_gateway": "rest-gateway", "graphql_gateway": "graphql-gateway"}
"""The packages that are copied, and the folder of each."""
NO_FAULT = "no fault"


@dataclass(frozen=True)
class Tried:
    """What conformance says of one copy.

    Attributes:
        component: The component that the copy is.
        says: Its fault, or that it has none.
        law: The law that the fault breaks; of the copy without one, how many were tried.
        fails: Whether a law fails.
        why: The first case in which it does, with the first line of why; empty if none does.
        ok: Whether that is as it should be.
    """

    component: str
    says: str
    law: str
    fails: bool
    why: str
    ok: bool


def faults_of(component: str) -> list[Fault]:
    """The faults of a component; all of them if it is empty.

    Raises:
        UsageError: There is no such component.
    """
    if component and component not in (valid := sorted({fault.component for fault in FAULTS})):
        raise UsageError(f"component={component}: there are no faults of it; valid: {', '.join(valid)}")
    return [fault for fault in FAULTS if component in ("", fault.component)]


def prove_conformance(faults: Sequence[Fault]) -> list[Tried]:
    """Runs each fault's law against a copy with the fault, and all those laws against a copy without one."""
    results = []
    for component in dict.fromkeys(fault.component for fault in faults):
        own = [fault for fault in faults if fault.component == component]
        results += [tried_with(component, None, own), *(tried_with(component, fault, [fault]) for fault in own)]
    return results


def tried_with(component: str, fault: Fault | None, of: Sequence[Fault]) -> Tried:
    """Runs the laws of faults against a copy of a component with one fault, or with none."""
    wanted = list(dict.fromkeys(f"{one.suite}::test_{one.law}" for one in of))
    with copy_with(fault) as folder:
        argv = ["/usr/bin/env", f"PYTHONPATH={folder}", sys.executable, "-m", module_of(component)]
        laws = laws_of(run_suites(component, argv, ["grpc"], wanted))
    why = next((law.failed[0] for law in laws if law.failed), "")
    fails = any(law.failed for law in laws)
    if fault is not None:
        return Tried(component, fault.says, fault.law.replace("_", " "), fails, why, ok=fails)
    # A law that was left out would hold whatever the program does.
    sound = {law.verdict for law in laws} == {HOLDS} and len(laws) == len(wanted)
    return Tried(component, NO_FAULT, f"{len(laws)} laws", fails, why, ok=sound)


@contextmanager
def copy_with(fault: Fault | None) -> Iterator[Path]:
    """A folder with a copy of our packages that has this fault, removed afterwards.

    Raises:
        UsageError: The file has no longer the text that the fault replaces, or has it more than once.
    """
    with tempfile.TemporaryDirectory(prefix="hopwise-fault-") as name:
        folder = Path(name)
        for package, place in PACKAGES.items():
            shutil.copytree(ROOT / place / package, folder / package)
        if fault is not None:
            text = (folder / fault.file).read_text(encoding="utf-8")
            if text.count(fault.before) != 1:
                found = text.count(fault.before)
                raise UsageError(
                    f"{fault.file} has the text of the fault '{fault.says}' {found} times in place of once; "
                    "adapt load/experiment/proofs/seeded_faults.py"
                )
            (folder / fault.file).write_text(text.replace(fault.before, fault.after), encoding="utf-8")
        yield folder
