"""The tutorial shows its files as they are, and they work."""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml

from experiment.generator.shopload import BINARY
from mesh.paths import ROOT

DOCS = ROOT / "docs"
FILES = DOCS / "tutorial"
TEXT = (DOCS / "tutorial.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["wholesale.yaml", "mine.yaml"])
def test_the_page_shows_the_file_unchanged(name):
    assert f"(tutorial/{name})" in TEXT
    assert f"```yaml\n{(FILES / name).read_text(encoding='utf-8')}```" in TEXT


@pytest.mark.integration
def test_the_workload_makes_the_tape_that_the_page_shows(tmp_path):
    made_from = ["--workload", FILES / "wholesale.yaml", "--seed", "1", "--rate", "20", "--duration", "60s"]
    argv = [BINARY, "tape", *made_from, "--out", tmp_path / "tape.jsonl"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    made = json.loads(done.stdout)
    assert made["sha256"][:12] in TEXT
    assert f'"journeys":{made["journeys"]}' in TEXT
    mix = yaml.safe_load((FILES / "wholesale.yaml").read_text(encoding="utf-8"))["mix"]
    named = {f"{row['journey']}/{row['channel']}" for row in mix}
    assert set(made["mix"]) == named
