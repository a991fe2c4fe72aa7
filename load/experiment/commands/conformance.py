"""`conformance`: runs the services' own tests against a program that stands in for one of them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree

import typer

from experiment.commands.options import console, reported_errors
from experiment.errors import UsageError
from hops.elements.table import Column, Table, table_of, whole, words
from hops.terminal.render import rendered
from mesh.components.shop_processes import argv_of
from mesh.description.options import Json
from mesh.description.switch_values import implementations
from mesh.description.topology import BUILT_IN, PYTHON, Program
from mesh.paths import ROOT

SERVICES, CHECKOUT = "services/tests/integration", "services/tests/integration/checkout"
SUITES: Mapping[str, tuple[str, ...]] = {
    "product": (f"{SERVICES}/test_product_catalogue.py", f"{SERVICES}/test_product_stock.py"),
    "user": (*(f"{SERVICES}/test_{suite}.py" for suite in ("user_accounts", "logins", "email_addresses")),),
    "order": (f"{CHECKOUT}/test_checkout.py", f"{CHECKOUT}/test_orders.py"),
    "payment": (f"{SERVICES}/test_payments.py",),
    "rest-gateway": ("rest-gateway/tests/unit",),
    "graphql-gateway": ("graphql-gateway/tests/unit",),
}
"""The tests that a component must pass beside those of `CONTRACT`, whatever it is written in."""
CONTRACT = f"{SERVICES}/contract"
SET_UP = (f"{CONTRACT}/test_set_up.py",)
"""What is asked first: a program that it does not hold for would only wait in all other tests."""
START_S = 30.0
"""How long a program may take to answer."""
PROTOCOLS = ("grpc", "rest", "graphql", "thrift")
VARIABLE = "HOPWISE_CONFORMANCE"
"""What tells the tests which program they test (services/tests/conforming.py)."""
LIMIT_S = 1_800
SHOWN = 2
"""Failed cases of a test that the table has."""
HOLDS, FAILS, SKIPPED = "holds", "FAILS", "skipped"


@dataclass
class Law:
    """What one test says, over all of its cases.

    Attributes:
        file: The file of its test.
        suite: What the file is called in a table.
        says: What must hold, as the test is named.
        cases: How many cases were tried.
        failed: The cases in which it does not hold, each with the first line of why.
        skipped: How many cases were left out.
    """

    file: str
    suite: str
    says: str
    cases: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0

    @property
    def verdict(self) -> str:
        """Whether it holds in all cases that were tried."""
        if self.failed:
            return FAILS
        return SKIPPED if self.skipped == self.cases else HOLDS


def conformance_command(
    component: Annotated[str, typer.Option(help=f"Component that is tested: {' or '.join(SUITES)}.")] = "product",
    command: Annotated[
        str, typer.Option(help="Command that runs it, such as './product --verbose'; by default, the project's own.")
    ] = "",
    implementation: Annotated[
        str, typer.Option(help="In place of a command, a component of the project in another language: product:go.")
    ] = "",
    protocols: Annotated[
        str, typer.Option(help=f"Protocols that it is tested over, of {', '.join(PROTOCOLS)}.")
    ] = "grpc",
    as_json: Json = False,
) -> None:
    """The command `conformance`; `experiment.cli` has its help."""
    with reported_errors():
        name, argv = program_of(component, command, implementation)
        asked = tuple(dict.fromkeys(map(str.strip, protocols.split(","))))
        if unknown := sorted(set(asked) - set(PROTOCOLS)):
            raise UsageError(f"protocols={protocols}: {', '.join(unknown)} is unknown; valid: {', '.join(PROTOCOLS)}")
        laws = laws_of(run_suites(name, argv, asked, SET_UP))
        if not any(law.failed for law in laws):
            laws += laws_of(run_suites(name, argv, asked, [CONTRACT, *SUITES[name]]))
        if as_json:
            typer.echo(json.dumps([asdict(law) | {"verdict": law.verdict} for law in laws], indent=2))
        else:
            console().print(rendered([conformance_table(name, argv, laws)]))
        for law in (law for law in laws if law.failed):
            typer.echo(f"{name}: '{law.says}' fails ({law.file}): {law.failed[0]}", err=True)
        raise SystemExit(1 if any(law.failed for law in laws) else 0)


def program_of(component: str, command: str, implementation: str) -> tuple[str, list[str]]:
    """The component that is tested, and the command line that runs it.

    Raises:
        UsageError: They do not fit together, or nothing tests this component.
        SwitchError: There is no such implementation.
        StartError: The program is not there, or cannot be built.
    """
    program = Program(command=tuple(shlex.split(command))) if command.strip() else None
    if implementation:
        if command:
            raise UsageError("implementation= and command= are two programs; give one of them")
        chosen = implementations("implementation", implementation)
        if len(chosen) != 1:
            raise UsageError(f"implementation={implementation}: give one, such as product:go")
        ((component, language),) = chosen.items()
        if language != PYTHON and component not in BUILT_IN[language]:
            valid = ", ".join(f"{name}:{one}" for one, served in BUILT_IN.items() for name in served)
            raise UsageError(f"implementation={implementation}: there is no such component; valid: {valid}")
        program = None if language == PYTHON else Program(implementation=language)
    if component not in SUITES:
        raise UsageError(f"component={component}: there are no such tests; valid: {', '.join(SUITES)}")
    argv = argv_of(component, program)
    # The tests run elsewhere.
    return component, [shutil.which(argv[0]) or argv[0], *argv[1:]]


def run_suites(
    component: str, argv: Sequence[str], protocols: Sequence[str], suites: Sequence[str]
) -> ElementTree.Element:
    """Runs tests of a component, which show their progress; returns their results as JUnit's XML.

    Args:
        component: The component.
        argv: The command line that runs it.
        protocols: Protocols that it is tested over.
        suites: Files and folders of tests, or single ones, as pytest names them.

    Raises:
        UsageError: They could not be run.
    """
    told = {"component": component, "command": list(argv), "protocols": list(protocols), "start_s": START_S}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        arguments = ["-q", "-n0", "--no-header", "--no-summary", f"--junitxml={results}", "-o", "junit_family=xunit1"]
        subprocess.run(  # noqa: S603 - our own tests
            [sys.executable, "-m", "pytest", *arguments, *(str(ROOT / suite) for suite in suites)],
            cwd=ROOT,
            env={**os.environ, VARIABLE: json.dumps(told)},
            stdout=sys.stderr,
            check=False,
            timeout=LIMIT_S,
        )
        if not results.exists():
            raise UsageError("the tests could not be run; what pytest said is above")
        return ElementTree.parse(results).getroot()  # noqa: S314 - pytest's own, of this moment


def laws_of(results: ElementTree.Element) -> list[Law]:
    """What the tests say, in their order, with the cases of one test together."""
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
            why = (broken[0].get("message") or "").removeprefix('failed on setup with "').strip().splitlines()
            law.failed.append(f"{parameters.rstrip(']')}: {why[0] if why else 'failed'}".removeprefix(": "))
        law.skipped += case.find("skipped") is not None
    return list(laws.values())


def conformance_table(component: str, argv: Sequence[str], laws: Sequence[Law]) -> Table:
    """What holds and what does not."""
    failing = sum(law.verdict == FAILS for law in laws)
    verdict = f"{failing} of {len(laws)} do not hold" if failing else f"all {len(laws)} hold"
    return table_of(
        "conformance",
        f"What a {component} service must do, and whether {shlex.join(argv)} does: {verdict}",
        laws,
        [
            (Column("suite", numeric=False), lambda law: words(law.suite)),
            (Column("what must hold", numeric=False), lambda law: words(law.says)),
            (Column("cases"), lambda law: whole(law.cases)),
            (Column("verdict", numeric=False), lambda law: words("; ".join([law.verdict, *law.failed[:SHOWN]]))),
        ],
        heads=2,
    )
