from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps=edge,dance"], "valid: no-edge, edge, sidecars, mtls, istio, untraced, sdk, memory"),
        (["steps=edge"], "edge alone is not a step"),
        (["steps=no-edge,edge", "http=2"], "leave out http=2"),
        (["steps=no-edge,edge", "trace=1"], "give a share between 0 and 1"),
        (["topology=rest", "steps=no-edge,edge"], "arm no-edge: edge=none: rest has clients that reach services"),
        (["steps=no-edge,edge", "blocks=0"], "from 1 to 100"),
        (["resume=nothing"], "not an interrupted ladder"),
        (["resume=latest", "steps=no-edge,edge"], "leave out steps"),
        (["edge=none"], "ladder has no setting edge; it has: topology steps"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(["ladder", *arguments], message)


def test_the_bottom_of_the_ladder_has_figures_and_a_report(terminal) -> None:
    done = terminal.make("ladder", "steps=no-edge,edge", "blocks=1", "profile=smoke", "rate=10")
    # a noisy machine makes the run NOISY, which fails with CI=true
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "no-edge, edge: 1 block of 2 trials in random order" in done.stderr
    assert "What each step adds" in done.stdout
    latest = terminal.latest()
    summary = json.loads((latest / "summary.json").read_text())
    assert [step["adds"] for step in summary["ladder"]["steps"]] == ["edge"]
    assert (latest / "report.html").is_file()
    assert terminal.left_over() == []
