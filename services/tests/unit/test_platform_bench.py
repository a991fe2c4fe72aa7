"""The benchmark of the platform's share: the order of its rounds, the ratio, and when it fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mesh.errors import StartError
from platform_bench.__main__ import main
from platform_bench.graphql.cases import DOCUMENT_CASES, DocumentCase
from platform_bench.measure import Measured, measure
from platform_bench.processors import set_apart


class FakeProcess:
    """A process whose calls all cost the same."""

    def __init__(self, name: str, cost_us: float, log: list[str], answer: object = "the product") -> None:
        self._name, self._cost_us, self._log, self._answer = name, cost_us, log, answer

    def answer(self) -> object:
        return self._answer

    def cpu_us(self, count: int) -> float:
        self._log.append(f"{self._name}{count}")
        return self._cost_us * count


def test_rounds_are_interleaved_and_the_first_does_not_count() -> None:
    log: list[str] = []
    told: list[int] = []
    measured = measure(
        "case",
        FakeProcess("A", 330, log),
        FakeProcess("B", 300, log),
        most=1.11,
        rounds=2,
        calls=100,
        progress=told.append,
    )
    assert log == ["A50", "B50", "B50", "A50"] * 3
    assert told == [0, 1, 2]
    assert measured.shop_us == [330, 330]
    assert measured.bare_us == [300, 300]
    assert measured.ratio == pytest.approx(1.1)
    assert measured.passes


def test_sides_that_answer_differently_are_not_compared() -> None:
    log: list[str] = []
    with pytest.raises(StartError, match="case: the bare framework's answer differs"):
        measure(
            "case",
            FakeProcess("A", 1, log, "one"),
            FakeProcess("B", 1, log, "another"),
            most=1,
            rounds=2,
            calls=100,
            progress=lambda _: None,
        )
    assert not log


def test_interval_is_students_over_the_rounds_ratios() -> None:
    # Logarithms of the ratios: 0.1, 0.2, 0.3; t with 2 degrees of freedom is 4.303, the standard error 0.1 / √3.
    measured = Measured("case", 100, [1.1051709, 1.2214028, 1.3498588], [1, 1, 1], 1.22)
    assert measured.ratio == pytest.approx(1.2214028)
    low, high = measured.interval
    assert (low, high) == (pytest.approx(0.9527, abs=1e-3), pytest.approx(1.5658, abs=1e-3))
    assert not measured.passes


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--cases", "soap-product"], "there is no case 'soap-product'; valid: grpc-product, rest-product, graphql-"),
        (["--rounds", "1"], "--rounds is 1; it must be at least 2"),
        (["--calls", "101"], "--calls is 101; it must be an even number of at least 100"),
    ],
)
def test_bad_input_is_named_with_what_is_valid(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(options)
    assert refused.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="processors are set apart on Linux only")
def test_a_measured_process_has_a_processor_to_itself_for_a_while() -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("there is one processor")
    with subprocess.Popen(["sleep", "60"]) as measured, subprocess.Popen(["sleep", "60"]) as beside:
        try:
            with set_apart([measured.pid], [beside.pid]):
                assert os.sched_getaffinity(measured.pid) == {max(allowed)}
                assert os.sched_getaffinity(beside.pid) == os.sched_getaffinity(0) == allowed - {max(allowed)}
            assert os.sched_getaffinity(beside.pid) == os.sched_getaffinity(0) == allowed
        finally:
            measured.kill()
            beside.kill()


@pytest.mark.parametrize("case", DOCUMENT_CASES, ids=lambda case: case.name)
def test_gateway_and_graphql_core_answer_a_document_alike(case: DocumentCase) -> None:
    gateway, core = case.sides()
    assert gateway.answer() == core.answer()
    assert b'"errors"' not in gateway.answer()
    assert gateway.cpu_us(2) > 0
