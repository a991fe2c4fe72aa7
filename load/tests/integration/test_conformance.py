"""`make conformance` on programs that do not conform, and on seeded faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import conformance as command
from experiment.parity import contract_tests
from experiment.parity.contract_tests import Law, laws_of, run_suites
from proofs.measurement.seeded_faults import Fault, command_of, seeded_faults, try_laws

LIMIT_S = 300
(SET_UP,) = contract_tests.SET_UP
STARTS = f"{SET_UP}::test_answers_until_ctrl_c_and_ends_with_exit_code_0"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test that leaves a process running; only the test's processes inherit a certain environment variable."""
    mark = f"MARK={tmp_path}"
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{mark}")
    yield
    monkeypatch.undo()
    left = [path for path in Path("/proc").glob("[0-9]*/environ") if mark in read(path)]
    assert not left, [read(path.with_name("cmdline")) for path in left]


def read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:  # the process has ended meanwhile, or is another user's
        return ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--command", "./nobody"], 1, "product (command: ./nobody): there is no program ./nobody to execute"),
        (["--component", "edge"], 2, "valid: product, user, order, payment, rest-gateway, graphql-gateway"),
        (["--protocols", "smoke"], 2, "product is not tested over smoke; valid: grpc, rest, graphql, thrift, connect"),
        (["--component", "graphql-gateway", "--protocols", "grpc"], 2, "is not tested over grpc; valid: graphql"),
        (["--command", "x", "--implementation", "product:go"], 2, "give only one of them"),
    ],
)
def test_what_cannot_be_tested_is_named(arguments: Sequence[str], code: int, message: str) -> None:
    done = CliRunner().invoke(app, ["conformance", *arguments])
    assert done.exit_code == code, done.stderr
    assert message in " ".join(done.stderr.split())


def test_no_test_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "run_suites", lambda *_: ElementTree.Element("testsuite"))
    with pytest.raises(SystemExit, match="2"):
        command.conformance_command(component="product", command="", implementation="", protocols="rest")
    assert "component=product protocols=rest: no test ran; all were skipped or left out" in capsys.readouterr().err


def test_a_program_that_only_fails_is_not_tested_further() -> None:
    command = "/bin/sh -c 'echo error: no such table >&2; exit 3'"
    experiment = [sys.executable, "-m", "experiment", "conformance", "--json"]
    arguments = [*experiment, "--component", "payment", "--command", command]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 1, done.stderr
    laws = json.loads(done.stdout)
    assert {law["verdict"] for law in laws} == {"FAILS"}
    assert {law["file"] for law in laws} == {SET_UP}
    assert f"payment (command: {command}) ended with exit code 3 instead of serving" in done.stderr
    assert "no such table" in done.stderr
    assert f"payment: the test 'answers until ctrl c and ends with exit code 0' failed ({SET_UP})" in done.stderr


def judge(argv: Sequence[str], *tests: str) -> list[Law]:
    return laws_of(run_suites("product", argv, ["grpc"], tests))


def test_a_program_that_answers_too_late_is_named_with_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract_tests, "START_S", 1)
    (law,) = judge(["/bin/sleep", "1000"], STARTS)
    assert "product (command: /bin/sleep 1000) did not answer its health check within 1 s" in law.failed[0]


def fault_of(says: str) -> Fault:
    (fault,) = (one for one in seeded_faults() if one.says == says)
    return fault


@pytest.mark.parametrize(
    "reasons",
    [
        {
            "spans do not have the requested delay": "the span shop.product.v1.ProductService/"
            "GetProduct has no attribute shop.injected_delay_ms; it has: ",
            "each call leaves a thread behind": "threads: ",
        },
        {"it dies after fifty calls": "died during a test, with exit code 7; it said: error: no more"},
    ],
    ids=lambda reasons: ", ".join(reasons),
)
def test_each_reason_says_what_the_program_did(reasons: Mapping[str, str]) -> None:
    """A program has several faults, and each fault breaks a different law."""
    faults = {fault_of(says): expected for says, expected in reasons.items()}
    laws = judge(command_of("product", *faults), *(fault.test for fault in faults))
    why = {law.says: " ".join(law.failed) for law in laws}
    for fault, expected in faults.items():
        assert expected in why[fault.law.replace("_", " ")], why


CHOSEN = ("a checkout takes another amount", "items are read one by one")
"""A fault of a service and a fault of a gateway, tested with every change; `make prove-conformance` has all faults."""


def test_conformance_fails_for_seeded_faults() -> None:
    for fault in map(fault_of, CHOSEN):
        tried = try_laws(fault.component, fault, [fault])
        assert tried.ok, tried
