"""What a check found, what is accepted of it, and what could not be looked at."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from provision.errors import SetupError
from provision.paths import ROOT

TABLE = ROOT / "mesh" / "supply-chain.toml"


@dataclass(frozen=True)
class Finding:
    """Something to repair, or to accept with a reason.

    Attributes:
        where: What has it: a package or program with its version, or a file.
        id: The advisory, the licence, or the kind of secret.
        detail: What it is, and which version has it no more.
        reason: Why it is accepted; empty where it is not.
    """

    where: str
    id: str
    detail: str
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """One check, done or not.

    Attributes:
        title: What is looked for, and in what.
        looked_at: How much was looked at, in words.
        findings: What was found, accepted or not.
        unchecked: What was not looked at, each with its cause.
    """

    title: str
    looked_at: str
    findings: Sequence[Finding] = ()
    unchecked: Sequence[str] = ()


def table() -> Mapping[str, Any]:
    """The allowed licences, and the accepted exceptions.

    Raises:
        SetupError: The file is no TOML.
    """
    try:
        return tomllib.loads(TABLE.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{TABLE}: {error}") from error


def ask(
    argv: Sequence[str], cwd: Path = ROOT, limit_s: float = 300, variables: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; its exit code says nothing yet.

    Args:
        argv: The command line.
        cwd: The folder that it runs in.
        limit_s: It is ended after this time, in seconds; its exit code is then 124.
        variables: Variables besides those of the environment.
    """
    env = {**os.environ, **variables}
    try:
        return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=limit_s, env=env)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {limit_s:.0f} s")


def cause(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says why a program failed."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    line = lines[-1] if lines else f"it ended with exit code {done.returncode}"
    return line if len(line) < 200 else f"{line[:60]} … {line[-100:]}"
