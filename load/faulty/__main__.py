"""`python -m faulty COMPONENT [FAULT ...]` runs a component with faults; without arguments, it lists all as JSON."""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from collections.abc import Sequence
from unittest import mock

from faulty.seeds import Fault

MODULES = ("product", "user", "order", "payment", "rest_gateway", "graphql_gateway")


def faults_of(module: str) -> Sequence[Fault]:
    faults: Sequence[Fault] = importlib.import_module(f"faulty.{module}").FAULTS
    return faults


def list_faults() -> None:
    """Seeds and removes each fault of every component, to check that it can be seeded; then prints all faults."""
    rows = []
    for module in MODULES:
        for fault in faults_of(module):
            fault.seed()
            mock.patch.stopall()
            rows.append({"component": module.replace("_", "-"), "says": fault.says, "law": fault.law})
    print(json.dumps(rows))


def run(component: str, *chosen: str) -> None:
    """Runs a component as experiments do, with faults named by their descriptions in the list of faults."""
    faults = {fault.says: fault for fault in faults_of(component.replace("-", "_"))}
    for says in chosen:
        if says not in faults:
            raise SystemExit(f"error: {component} has no fault {says!r}; valid: {', '.join(map(repr, faults))}")
        faults[says].seed()
    sys.argv = ["measured", component]
    runpy.run_module("measured", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(*sys.argv[1:])
    else:
        list_faults()
