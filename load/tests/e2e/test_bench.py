from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
STARTED_S = 60


@pytest.fixture(scope="module")
def two_runs(terminal) -> list[Path]:
    folders = []
    for _ in range(2):
        done = terminal.make("topology=hybrid", "profile=smoke", "seed=7", "verbose=on", "bench")
        assert "hop budgets of checkout" in done.stdout, done.stderr
        assert any(verdict in done.stdout for verdict in ("VALID", "NOISY", "WRONG"))
        folder = terminal.latest()
        assert folder is not None
        folders.append(folder)
    return folders


def test_the_same_seed_gives_the_same_tape_and_the_same_answers(two_runs: list[Path]) -> None:
    first, second = (json.loads((folder / "summary.json").read_text())["tape"] for folder in two_runs)
    assert first == second


def test_gates_that_depend_only_on_the_code_hold(terminal, two_runs: list[Path]) -> None:
    for folder in two_runs:
        assert terminal.failed_code_gates(json.loads((folder / "summary.json").read_text())) == []


def test_the_exemplars_can_be_viewed_afterwards(terminal, two_runs: list[Path]) -> None:
    done = terminal.make("trace", "journey=checkout", "wait=no")
    assert done.returncode == 0, done.stderr
    assert "OrderService/Checkout" in done.stdout
    assert "adds up to" in done.stdout
    assert terminal.left_over() == []


def test_the_newest_run_can_be_audited_and_an_older_one_is_refused(terminal, two_runs: list[Path]) -> None:
    done = terminal.make("audit")
    assert done.returncode == 0, done.stderr
    assert "BROKEN" not in done.stdout
    older = terminal.make("audit", f"run={two_runs[0].name}")
    assert older.returncode == terminal.make_failed
    assert f"the database now holds the data of {two_runs[1].name}" in older.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topology=soap"], "hybrid"),
        (["profile=huge"], "smoke, compare, quick, full"),
        (["rate=-1"], "rate=-1"),
        (["rate=fast"], "rate=fast is not valid"),
        (["seed=x"], "seed=x"),
        (["trace=2"], "trace=2"),
        (["scale=0"], "scale=0"),
        (["edge=nginx"], "edge=nginx"),
        (["mesh=linkerd"], "mesh=linkerd"),
        (["connections=0"], "from 1 to 1000"),
        (["vus=0"], "from 1 to 10000"),
        (["vus=many"], "from 1 to 10000"),
        (["vus=4", "think=soon"], "from 0s to 10m"),
        (["think=1s"], "vus=N"),
        (["vus=4", "rate=20"], "open loop"),
        (["workload=nothing"], "default"),
        (["topologi=rest"], "topologi"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused([*arguments, "bench"], message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [hybrid\n", "mine.yaml:2: not valid YAML"),
        ("name: x\nabout: y\nentry: {web: grpahql-gateway}\nlinks: {}\n", "grpahql-gateway"),
        (
            "name: x\nabout: y\nentry: {web: graphql-gateway, mobile: graphql-gateway, partner: rest-gateway}\n"
            "links: {graphql-gateway: {product: grpc}}\n",
            "order",
        ),
    ],
)
def test_a_wrong_topology_file_is_explained(refused, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    refused([f"topology={file}", "profile=smoke", "bench"], message)


@pytest.mark.parametrize("after_s", [0.3, 1.5, 3.0, 5.0, 9.0])
def test_ctrl_c_leaves_nothing_running_and_earlier_results_alone(terminal, after_s: float) -> None:
    before = terminal.latest()
    bench = terminal.start("topology=hybrid", "profile=smoke", "bench")
    time.sleep(after_s)
    terminal.interrupt(bench)
    assert terminal.latest() == before
    assert terminal.left_over() == []


def test_sigterm_to_make_alone_reaches_the_run(terminal) -> None:
    bench = terminal.start("topology=hybrid", "profile=smoke", "bench")
    until = time.monotonic() + STARTED_S
    while not terminal.left_over() and time.monotonic() < until:
        time.sleep(0.2)
    assert terminal.left_over(), "it did not start"
    bench.terminate()
    terminal.await_end(bench)
    assert terminal.left_over() == []
