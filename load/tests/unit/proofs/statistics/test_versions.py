"""The proof that a slow day misleads a comparison of two runs but not a comparison of versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hops.run.files import MANIFEST, read_document, read_run
from proofs.__main__ import app
from proofs.statistics.versions import compare_days, prove_versions
from synthetic.run import Arm, write_generated_run

ABOUT = {
    "checkouts": {side: {"given": "HEAD", "commit": "0" * 40} for side in ("a", "b")},
    "allow_differences": [],
    "delay_b": "",
    "threshold": None,
}


def make_run(folder: Path, **about: Any) -> Path:
    arms = [Arm("a", "hybrid"), Arm("b", "hybrid")]
    large = {arm.label: {"work:user": 20.0} for arm in arms}
    run = write_generated_run(
        folder, kind="compare-versions", arms=arms, blocks=5, journeys_per_trial=100, traced=1.0, delays_ms=large
    )
    (run / MANIFEST).write_text(json.dumps({**read_document(run / MANIFEST), **ABOUT, **about}), encoding="utf-8")
    return run


def test_experiments_are_drawn_from_a_run_of_equal_versions(tmp_path: Path) -> None:
    proof = prove_versions(read_run(make_run(tmp_path / "run")), 2, 1)
    assert proof["blocks"] > 5
    assert proof["false"]["of"] == 2
    assert [(row["part"], row["found"]["of"], row["ms"] > 2) for row in proof["parts"]] == [("work:user", 2, True)]


def test_different_days_raise_alarms_and_equal_days_do_not() -> None:
    alarms = {day: [compare_days(day, 6, seed) for seed in np.random.SeedSequence(1).spawn(6)] for day in (0.0, 0.5)}
    assert not any(alarms[0.0])
    assert any(alarms[0.5])


@pytest.mark.parametrize(
    "about",
    [
        {"delay_b": "order:2ms"},
        {"checkouts": {side: {"given": side, "commit": side * 40} for side in ("a", "b")}},
        {"checkouts": {}},
    ],
)
def test_a_run_of_other_versions_is_refused(tmp_path: Path, about: Any) -> None:
    run = make_run(tmp_path / "run", **about)
    (run / "summary.json").write_text("{}", encoding="utf-8")
    refused = CliRunner().invoke(app, ["versions", "--run", str(run)])
    assert refused.exit_code == 1
    assert "make one with `make compare-versions a=HEAD b=HEAD`" in refused.output
