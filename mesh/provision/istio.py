"""Istio's programs, built once per version for all checkouts of this user, and only if a mesh needs them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT
from provision.shared import link_to_shared

MODULE = ROOT / "mesh" / "istio"
DEPENDENCY = "istio.io/istio"
PROGRAMS = {
    "istiod": "./istiod",
    "pilot-agent": f"{DEPENDENCY}/pilot/cmd/pilot-agent",
    "istioctl": f"{DEPENDENCY}/istioctl/cmd/istioctl",
}
HINT = "6 min on 2 cores for all three programs, once; later checkouts find them in the cache"


def build() -> None:
    """Puts Istio's programs into `.tools/bin`, and builds the programs that are missing in the shared cache.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    for name, package in PROGRAMS.items():
        link_to_shared(BIN / name, cache_path(name), partial(_build, name, package))


def cache_path(name: str) -> Path:
    """Path of a program in the cache."""
    # Only istiod includes our own code.
    own = b"".join(file.read_bytes() for file in sorted((MODULE / "istiod").glob("*.go"))) if name == "istiod" else b""
    return golang.cache_path(name, MODULE, DEPENDENCY, own)


def _build(name: str, package: str, into: Path) -> None:
    golang.build(f"Istio's {name}", MODULE, package, into, HINT)
