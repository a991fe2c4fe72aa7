"""What of a workload file says how often each journey is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.arguments import WORKLOADS
from experiment.errors import UsageError
from experiment.plan.mix import mix_of, require_fitting
from mesh.description.switches import parse_switches


def test_every_shipped_workload_has_a_mix() -> None:
    for file in WORKLOADS.glob("*.yaml"):
        assert sum(mix_of(file).values()) > 0
    mix = mix_of(WORKLOADS / "default.yaml")
    assert mix["checkout", "web"] == 6
    assert mix["checkout", "partner"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mix: [", "not valid YAML"),
        ("name: empty", "mix: Field required"),
        ("mix: []", "mix: List should have at least 1 item"),
        ("- browse", "the file: Input should be"),
        (
            "mix: [{journey: browse, channel: web, weight: -1}]",
            r"mix\.0\.weight: Input should be greater than or equal",
        ),
        ("mix: [{journey: browse, channel: web}]", r"mix\.0\.weight: Field required"),
        ("mix: [{journey: browse, channel: web, weight: 0}]", "mix: all weights are 0"),
        (
            "mix: [{journey: browse, channel: web, weight: 1}, {journey: browse, channel: web, weight: 2}]",
            "mix: a journey is there twice",
        ),
    ],
)
def test_a_mix_that_is_none_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"odd\.yaml(:1)?: {message}"):
        mix_of(file)


def test_a_payload_needs_a_workload_with_documents() -> None:
    large, usual = parse_switches(payload="1MB"), parse_switches(payload="1KB")
    require_fitting(WORKLOADS / "document.yaml", large)
    require_fitting(WORKLOADS / "default.yaml", usual)
    with pytest.raises(UsageError, match=r"payload=1MB is for .* document, .*=default has not; give workload=document"):
        require_fitting(WORKLOADS / "default.yaml", usual, large)


def test_notifications_are_read_where_customers_are_told() -> None:
    require_fitting(WORKLOADS / "updates.yaml", parse_switches(updates="on"))
    with pytest.raises(UsageError, match=r"workload=updates has the journey notifications, .* give updates=on"):
        require_fitting(WORKLOADS / "updates.yaml", parse_switches(updates="off"))
