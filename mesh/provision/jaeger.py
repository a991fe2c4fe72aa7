"""Jaeger, built once per version for all checkouts of this user."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT, cache
from provision.shared import link_to_shared

MODULE = ROOT / "observability" / "jaeger" / "build"
COMMAND = "github.com/jaegertracing/jaeger/cmd/jaeger"
HINT = "5 min on 2 cores, once; later checkouts find it in the cache"


def build() -> None:
    """Put `.tools/bin/jaeger` in place, and build Jaeger if the shared cache does not have it.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    link_to_shared(BIN / "jaeger", cached(), lambda program: golang.build("Jaeger", MODULE, COMMAND, program, HINT))


def cached() -> Path:
    """Path of this version's program in the cache; the folder is named by the version and the hash of its pins."""
    pins = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    pinned = re.search(r"jaegertracing/jaeger v(\S+)", pins.decode())
    version = pinned.group(1) if pinned else "unknown"
    return cache() / f"jaeger-{version}-{hashlib.sha256(pins).hexdigest()[:12]}" / "jaeger"
