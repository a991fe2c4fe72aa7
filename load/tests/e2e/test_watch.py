from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


def test_every_watcher_gets_updates_of_its_own_orders(terminal) -> None:
    small = ("watchers=30", "blocks=1", "profile=rtt", "interval=1s", "trace=1", "verbose=on", "topologies=grpc,rest")
    done = terminal.make(*small, "watch")
    assert done.returncode == 0, done.stderr
    assert "hop budgets of traced updates" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Results: ")]
    folder = terminal.root / line.removeprefix("Results: ").strip()
    waited = json.loads((folder / "summary.json").read_text())["watch"]["waited"]
    assert sorted((one["topology"], one["way"], one["watchers"]) for one in waited) == [
        (topology, way, 30 if way else 0) for topology in ("grpc", "rest") for way in ("", "poll", "push")
    ]
    for one in waited:
        assert one["failed"] == one["missed"] == one["repeated"] == one["off_ns"] == 0
        if one["watchers"]:
            assert one["protocol"] == {"grpc": "grpc", "rest": "rest-services"}[one["topology"]]
            assert one["updates"] > 10
            assert one["traced"] == one["updates"]
            # Only a stream takes an update out of the table of notifications; a poll reads everything there.
            taken = {"outbox:notification"} if one["way"] == "push" else set()
            assert {"outbox:order", "wire:order→notification", "push", *taken} <= set(one["budget_ms"])
    assert (Path(folder) / "report.html").is_file()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["watchers=-1"], "watchers=-1 is not valid: give an integer from 1 to 10000"),
        (["ways=pull"], "'pull' is unknown; valid: push, poll"),
        (["interval=0s"], "interval=0s"),
        (["topologies=grpc-web"], "updates=on with topology=grpc-web, which has no notification service."),
        (["updates=off"], "watch has no setting updates"),
    ],
)
def test_wrong_input_is_refused(terminal, given: list[str], message: str) -> None:
    done = terminal.make(*given, "watch")
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
