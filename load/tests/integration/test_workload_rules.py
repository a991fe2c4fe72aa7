"""The generator accepts the same workload files as the check that comes before a run."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Shopload
from experiment.plan.workload import SENDERS, workload_file
from mesh.description.topology import Channel

SHARE = "{journey: browse, channel: web, weight: 1}"
HEAD = "name: x\n"


def verdicts(folder: Path, text: str) -> tuple[bool, bool]:
    """Whether the check and the generator accept a workload."""
    file, accepted = folder / "w.yaml", []
    file.write_text(text, encoding="utf-8")
    for read in (
        lambda: workload_file(str(file)),
        lambda: Shopload(BINARY).tape(file, folder / "t.jsonl", seed=1, rate=1, duration_s=1, scale=1),
    ):
        try:
            read()
            accepted.append(True)
        except UsageError:
            accepted.append(False)
    return accepted[0], accepted[1]


def test_both_have_the_same_senders_of_each_journey(tmp_path: Path) -> None:
    for journey, channel in product([*SENDERS, "dance"], Channel):
        text = f"{HEAD}mix: [{{journey: {journey}, channel: {channel}, weight: 1}}]"
        is_valid = channel in SENDERS.get(journey, ())
        assert verdicts(tmp_path, text) == (is_valid, is_valid), (journey, channel)


@pytest.mark.parametrize(
    ("rest", "is_valid"),
    [
        (f"mix: [{SHARE}]", True),
        (f"about: a\npool: parity\norder: cycle\nmix: [{SHARE}]", True),
        (f"arrival: {{process: ramp, from: 0, to: 100}}\nmix: [{SHARE}]", True),
        (f"arrival: {{process: ramp, from: 0, to: 0.0004}}\nmix: [{SHARE}]", False),
        (f"arrival: {{process: ramp, from: 0}}\nmix: [{SHARE}]", False),
        (f"arrival: {{to: 1}}\nmix: [{SHARE}]", False),
        (f"arrival: {{process: staircase, steps: [0, 100]}}\nmix: [{SHARE}]", True),
        (f"arrival: {{process: staircase, steps: [0.0004]}}\nmix: [{SHARE}]", False),
        (f"arrival: {{process: staircase, steps: [1, 101]}}\nmix: [{SHARE}]", False),
        (f"arrival: {{process: constant, steps: [1]}}\nmix: [{SHARE}]", False),
        (f"arrival: {{process: bus}}\nmix: [{SHARE}]", False),
        (f"pool: sea\nmix: [{SHARE}]", False),
        (f"order: none\nmix: [{SHARE}]", False),
        (f"mix: [{SHARE}, {SHARE}]", False),
        ("mix: []", False),
        ("mix: [{journey: browse, channel: web, weight: 1e6}]", True),
        ("mix: [{journey: browse, channel: web, weight: 1000000.5}]", False),
        ("mix: [{journey: browse, channel: web, weight: 0.0004}]", False),
        ("mix: [{journey: browse, channel: web, weight: 0.0005}]", True),
        ("order: cycle\nmix: [{journey: browse, channel: web, weight: 10000}]", True),
        ("order: cycle\nmix: [{journey: browse, channel: web, weight: 10001}]", False),
        ("order: cycle\nmix: [{journey: browse, channel: web, weight: 1.5}]", False),
    ],
)
def test_both_accept_and_refuse_the_same_workloads(tmp_path: Path, rest: str, is_valid: bool) -> None:
    assert verdicts(tmp_path, HEAD + rest) == (is_valid, is_valid)
