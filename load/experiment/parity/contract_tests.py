"""Runs the contract's tests against a program that implements a component of the shop."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from experiment.errors import UsageError
from mesh.description.topology import GATEWAYS
from mesh.paths import ROOT
from mesh.supervisor.child import child_process
from mesh.supervisor.processes import Component

SERVICES, CHECKOUT = "services/tests/integration", "services/tests/integration/checkout"
SUITES: Mapping[str, tuple[str, ...]] = {
    "product": (f"{SERVICES}/test_product_catalogue.py", f"{SERVICES}/test_product_stock.py"),
    "user": (f"{SERVICES}/test_user_accounts.py", f"{SERVICES}/test_logins.py"),
    "order": (f"{CHECKOUT}/test_checkout.py", f"{CHECKOUT}/test_orders.py"),
    "payment": (f"{SERVICES}/test_payments.py",),
    "rest-gateway": ("rest-gateway/tests/unit",),
    "graphql-gateway": ("graphql-gateway/tests/unit", "services/tests/unit/platform/graphql"),
}
"""Tests that a component must pass regardless of its language, in addition to `CONTRACT`."""
CONTRACT = tuple(f"{SERVICES}/contract/test_{suite}.py" for suite in ("process", "calls", "rest", "spans"))
"""Tests that are the same for every component."""
SET_UP = (f"{SERVICES}/contract/test_set_up.py",)
"""Tests that run first: a program that fails them would only time out in all other tests."""
START_S, STOP_S = Component.start_limit_s, Component.stop_limit_s
"""How long a program may take until it first answers, and how long to stop, in seconds."""
OF_SERVICES = ("grpc", "rest", "graphql", "thrift", "connect")
PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    component: (GATEWAYS[component].value,) if component in GATEWAYS else OF_SERVICES for component in SUITES
}
"""The protocols over which a component may be tested; the default comes first."""
VARIABLE = "HOPWISE_CONFORMANCE"
"""Environment variable that describes the program to test; the tests read it (services/tests/conforming.py)."""
LIMIT_S = 1_800
_ENDED = re.compile(r"RPC that terminated with:\s*status = StatusCode\.(\w+)\s*details = \"(.*)\"")
_LOGGED = re.compile(r" ended a call with (\w+): (.*)")
_MAX_LINES = 2
HOLDS, FAILS, SKIPPED = "holds", "FAILS", "skipped"


@dataclass
class Law:
    """A test with all its cases.

    Attributes:
        file: File of the test.
        says: What must hold, taken from the test's name.
        failed: Failed cases, each with the first line of the reason.
    """

    file: str
    suite: str
    says: str
    cases: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0

    @property
    def verdict(self) -> str:
        """Says whether the law holds in all cases that ran."""
        if self.failed:
            return FAILS
        return SKIPPED if self.skipped == self.cases else HOLDS


def run_suites(
    component: str, argv: Sequence[str], protocols: Sequence[str], suites: Sequence[str]
) -> ElementTree.Element:
    """Runs tests of a component, shows their progress, and returns JUnit XML; raises UsageError if they cannot run."""
    limits = {"start_s": START_S, "stop_s": STOP_S}
    settings = {"component": component, "command": list(argv), "protocols": list(protocols), **limits}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        arguments = ["-q", "-n0", "--no-header", "--no-summary", f"--junitxml={results}"]
        # Our clients log the status code with which a call ended; their errors may not show that code.
        arguments += ["-o", "junit_family=xunit1", "-o", "junit_logging=log"]
        command = [sys.executable, "-m", "pytest", *arguments, *(str(ROOT / suite) for suite in suites)]
        environ = {**os.environ, VARIABLE: json.dumps(settings)}
        with child_process(command, cwd=ROOT, env=environ, stdout=sys.stderr) as tests:
            tests.wait(LIMIT_S)
        if not results.exists():
            raise UsageError("the tests could not run; pytest's output is above")
        return ElementTree.parse(results).getroot()  # noqa: S314 - pytest has just written it


def laws_of(results: ElementTree.Element) -> list[Law]:
    """Returns the tests in the order in which they ran, each with all its cases."""
    laws: dict[tuple[str, str], Law] = {}
    for case in results.iter("testcase"):
        suite = case.get("file") or case.get("classname", "").replace(".", "/")
        name, _, parameters = case.get("name", "").partition("[")
        says = re.sub(r"^test_", "", name).replace("_", " ")
        file = str(Path(suite).relative_to(ROOT)) if Path(suite).is_absolute() else suite
        law = laws.setdefault((file, says), Law(file, Path(file).stem.removeprefix("test_").replace("_", " "), says))
        law.cases += 1
        broken = [*case.iter("failure"), *case.iter("error")]
        if broken:
            law.failed.append(f"{parameters.rstrip(']')}: {_reason(case, broken[0])}".removeprefix(": "))
        law.skipped += case.find("skipped") is not None
    return list(laws.values())


def _reason(case: ElementTree.Element, broken: ElementTree.Element) -> str:
    """Returns the first line of the reason why a case failed, with the difference if two values were compared.

    If a call ended with a gRPC error, the reason is the error's code and message.
    """
    message = (broken.get("message") or "").removeprefix('failed on setup with "').strip()
    first = message.partition("\n")[0].strip() or "failed"
    ended = _ENDED.search(message)
    if ended is None and first.startswith("shop.errors.Internal"):
        ended = _LOGGED.search(case.findtext("system-out") or "")
    if ended:
        return f"a call is answered with {': '.join(filter(None, ended.groups()))}"
    compared = re.match(r"(AssertionError: )?(assert |Regex pattern)", first)
    return "; ".join([first, *_difference(message)]) if compared else first


def _difference(message: str) -> list[str]:
    """Returns the lines in which pytest describes a difference."""
    lines = [line.strip() for line in message.splitlines()[1:]]
    return [line for line in lines if line and not line.startswith("Use -v")][:_MAX_LINES]
