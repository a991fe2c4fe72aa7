"""Jaeger, built once per version for all checkouts of this user."""

from __future__ import annotations

from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT
from provision.shared import link_to_shared

MODULE = ROOT / "observability" / "jaeger" / "build"
DEPENDENCY = "github.com/jaegertracing/jaeger"
COMMAND = f"{DEPENDENCY}/cmd/jaeger"
HINT = "5 min on 2 cores, once; later checkouts find it in the cache"


def build() -> None:
    """Puts `.tools/bin/jaeger` in place, and builds Jaeger if the shared cache does not have it.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    link_to_shared(BIN / "jaeger", cached(), lambda program: golang.build("Jaeger", MODULE, COMMAND, program, HINT))


def cached() -> Path:
    """Path of this version's program in the cache."""
    return golang.cached("jaeger", MODULE, DEPENDENCY)
