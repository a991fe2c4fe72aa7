"""`conformance`: tests a program against the contract of a component."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from experiment.commands.options import console, reported_errors
from experiment.errors import UsageError
from experiment.parity.contract_tests import CONTRACT, FAILS, PROTOCOLS, SET_UP, SUITES, Law, laws_of, run_suites
from hops.elements.table import Column, Table, table_of, whole, words
from hops.terminal.render import render
from mesh.components.shop_processes import argv_of
from mesh.description.options import Json, takes_settings
from mesh.description.switch_values import implementations
from mesh.description.topology import BUILT_IN, PYTHON, Program

SHOWN = 2
"""How many failed cases of a test the table shows."""


@takes_settings("conformance")
def conformance_command(
    *, component: str, command: str, implementation: str, protocols: str, as_json: Json = False
) -> None:
    with reported_errors():
        name, argv = program_of(component, command, implementation)
        valid = PROTOCOLS[name]
        asked = tuple(dict.fromkeys(map(str.strip, protocols.split(",")))) if protocols else valid[:1]
        if unknown := sorted(set(asked) - set(valid)):
            raise UsageError(
                f"protocols={protocols}: {name} is not tested over {', '.join(unknown)}; valid: {', '.join(valid)}"
            )
        laws = laws_of(run_suites(name, argv, asked, SET_UP))
        if not any(law.failed for law in laws):
            laws += laws_of(run_suites(name, argv, asked, [*CONTRACT, *SUITES[name]]))
        if all(law.cases == law.skipped for law in laws):
            raise UsageError(f"component={name} protocols={','.join(asked)}: no test ran; all were skipped or left out")
        if as_json:
            typer.echo(json.dumps([asdict(law) | {"verdict": law.verdict} for law in laws], indent=2))
        else:
            console().print(render([conformance_table(name, argv, laws)]))
        for law in (law for law in laws if law.failed):
            typer.echo(f"{name}: the test '{law.says}' failed ({law.file}): {law.failed[0]}", err=True)
        raise SystemExit(1 if any(law.failed for law in laws) else 0)


def program_of(component: str, command: str, implementation: str) -> tuple[str, list[str]]:
    """Finds the component to test, and the command line that runs it.

    Raises:
        UsageError: The component and the program do not fit together, or there are no tests for this component.
        SwitchError: There is no such implementation.
        StartError: The program does not exist, or cannot be built.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"command={command}: {error}; quote it as for a shell") from error
    program = Program(command=words) if words else None
    if implementation:
        if command:
            raise UsageError("implementation= and command= each name a program; give only one of them")
        chosen = implementations("implementation", implementation)
        if len(chosen) != 1:
            raise UsageError(f"implementation={implementation}: give only one program, such as product:go")
        ((component, language),) = chosen.items()
        if language != PYTHON and component not in BUILT_IN[language]:
            valid = ", ".join(f"{name}:{one}" for one, served in BUILT_IN.items() for name in served)
            raise UsageError(f"implementation={implementation}: there is no such component; valid: {valid}")
        program = None if language == PYTHON else Program(implementation=language)
    if component not in SUITES:
        raise UsageError(f"component={component}: there are no tests for it; valid: {', '.join(SUITES)}")
    argv = argv_of(component, program)
    # The path must be absolute, because the tests run in another folder.
    return component, [str(Path(shutil.which(argv[0]) or argv[0]).absolute()), *argv[1:]]


def conformance_table(component: str, argv: Sequence[str], laws: Sequence[Law]) -> Table:
    """Returns a table that says whether each law holds."""
    failing = sum(law.verdict == FAILS for law in laws)
    verdict = f"{failing} of {len(laws)} do not hold" if failing else f"all {len(laws)} hold"
    return table_of(
        "conformance",
        f"What {component} must do, and whether {shlex.join(argv)} does: {verdict}",
        laws,
        [
            (Column("suite", numeric=False), lambda law: words(law.suite)),
            (Column("what must hold", numeric=False), lambda law: words(law.says)),
            (Column("cases"), lambda law: whole(law.cases)),
            (Column("verdict", numeric=False), lambda law: words("; ".join([law.verdict, *law.failed[:SHOWN]]))),
        ],
        heads=2,
    )
