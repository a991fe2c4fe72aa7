from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topologies=rest,soap"], "hybrid-transcoded"),
        (["topologies=rest,rest"], "rest is given twice"),
        (["blocks=0"], "from 1 to 100"),
        (["blocks=many"], "from 1 to 100"),
        (["retry=9"], "from 0 to 5"),
        (["profile=huge"], "smoke, compare, quick, full"),
        (["resume=nothing"], "not an interrupted compare"),
        (["resume=latest", "rate=5"], "leave out rate"),
        (["precision=0"], "precision=0 is not valid: give a percentage from 0.01% to 50%, such as 5%"),
        (["precision=200%"], "precision=200% is not valid: give a percentage from 0.01% to 50%, such as 5%"),
        (["precision=0.01%"], "An experiment has at most 100 blocks, which give a precision of about "),
        (["precision=5%", "topologies=rest"], "precision= applies to the ratio of two topologies: give at least two"),
        (["precision=5%", "resume=latest"], "leave out precision"),
        (["topology=rest"], "compare has no setting topology; it has: topologies"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(["compare", *arguments], message)


@pytest.fixture
def interrupted_run(terminal) -> str:
    """Name of an experiment that Ctrl-C ended during its first trial."""
    before = set(terminal.results.glob("*-compare.incomplete"))
    running = terminal.start("compare", "topologies=grpc,hybrid", "blocks=1", "profile=smoke", "rate=10")
    time.sleep(12)
    terminal.interrupt(running)
    (kept,) = set(terminal.results.glob("*-compare.incomplete")) - before
    return kept.name.removesuffix(".incomplete")


def test_an_experiment_that_ctrl_c_ended_resumes_to_its_end(terminal, interrupted_run: str) -> None:
    assert terminal.left_over() == []
    done = terminal.make("compare", f"resume={interrupted_run}")
    # one block gives figures without a comparison; a noisy machine makes the run NOISY, which fails with CI=true
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert any(verdict in done.stdout for verdict in ("VALID", "NOISY", "WRONG"))
    assert (terminal.results / interrupted_run / "report.html").is_file()
    assert terminal.left_over() == []
    decided = terminal.make("decide", f"run={interrupted_run}", "workload=distant")
    assert decided.returncode in (0, terminal.make_failed), decided.stderr
    by = f"By {interrupted_run} (2 topologies, 1 block at 10 journeys a second, "
    assert f"Which one would we take? {by}" in " ".join(decided.stdout.split())
