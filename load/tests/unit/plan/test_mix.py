"""What of a workload file says how often each journey is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.arguments import WORKLOADS
from experiment.errors import UsageError
from experiment.plan.mix import mix_of, require_documents


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
    require_documents(WORKLOADS / "document.yaml", "1MB")
    require_documents(WORKLOADS / "default.yaml", "1KB")
    with pytest.raises(UsageError, match=r"payload=1MB is for .* document, .*=default has not; give workload=document"):
        require_documents(WORKLOADS / "default.yaml", "1MB")
