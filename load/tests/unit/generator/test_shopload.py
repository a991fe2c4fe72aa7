"""The generator's process: its messages reach the user, and it never outlives its trial."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest
import yaml

from experiment.arguments import WORKLOADS
from experiment.errors import GeneratorError, UsageError
from experiment.generator.shopload import Load, Shopload, Tape, stop
from experiment.generator.tapes import EVEN, parity_tape
from experiment.plan.workload import mix_of


def program(folder: Path, script: str) -> Shopload:
    """Makes a stand-in for the generator, to test how its end is handled."""
    binary = folder / "shopload"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    return Shopload(binary)


def make_tape(shopload: Shopload, folder: Path) -> Tape:
    return shopload.tape(folder / "w.yaml", folder / "t.jsonl", seed=1, rate=1, duration_s=1, scale=1)


def test_a_tape_is_identified_by_the_generator_s_output(tmp_path: Path) -> None:
    made = make_tape(program(tmp_path, 'echo \'{"sha256": "abc", "journeys": 7}\''), tmp_path)
    assert (made.sha256, made.journeys, made.seed) == ("abc", 7, 1)


@pytest.mark.parametrize(
    ("workload", "payload", "more"), [("default", "1KB", []), ("document", "10KB", ["document"] * 3)]
)
def test_a_parity_tape_includes_the_workload_s_other_journeys(
    tmp_path: Path, workload: str, payload: str, more: list[str]
) -> None:
    shopload = program(tmp_path, f'echo "$@" > {tmp_path}/asked; echo \'{{"sha256": "abc", "journeys": 7}}\'')
    file = WORKLOADS / f"{workload}.yaml"
    parity_tape(shopload, tmp_path / "t.jsonl", 2, seed=1, scale=1, workload=file, payload=payload)
    mix = yaml.safe_load((tmp_path / "t.yaml").read_text())["mix"]
    assert [pair["journey"] for pair in mix] == [journey for journey, _ in mix_of(EVEN)] + more
    assert ("--payload 10KB" in (tmp_path / "asked").read_text()) == bool(more)


def test_bad_input_is_the_user_s_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mix: the weight is 0"):
        make_tape(program(tmp_path, "echo 'shopload: mix: the weight is 0' >&2; exit 2"), tmp_path)


def test_any_other_end_is_a_failure_with_its_message(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="shopload tape failed: out of luck"):
        make_tape(program(tmp_path, "echo out of luck >&2; exit 1"), tmp_path)


def test_a_missing_generator_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run `make setup`"):
        make_tape(Shopload(tmp_path / "nothing"), tmp_path)


def test_a_running_replay_is_stopped_at_once(tmp_path: Path) -> None:
    shopload = program(tmp_path, "exec sleep 60")
    tape = Tape(tmp_path / "t.jsonl", "abc", 1, 1)
    replay = shopload.start_replay(Load(tape, 60), tmp_path / "target.json", tmp_path, trace=0.2)
    began = time.monotonic()
    stop(replay)
    assert replay.poll() is not None
    assert time.monotonic() - began < 10


def test_a_replay_is_waited_for_until_after_the_end_of_its_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiment.generator.shopload.GRACE_S", 0.01)
    shopload = program(tmp_path, "exec sleep 0.5")
    load = Load(Tape(tmp_path / "t.jsonl", "abc", 1, 1), 60)
    replay = shopload.start_replay(load, tmp_path / "target.json", tmp_path, trace=0)
    shopload.finish_replay(replay, load.duration_s)
    assert replay.returncode == 0


def test_a_failed_replay_is_reported(tmp_path: Path) -> None:
    shopload = program(tmp_path, "exit 3")
    tape = Tape(tmp_path / "t.jsonl", "abc", 1, 1)
    replay = shopload.start_replay(Load(tape, 1), tmp_path / "target.json", tmp_path, trace=0.2)
    with pytest.raises(GeneratorError, match="exit code 3"):
        shopload.finish_replay(replay)
