"""kube-score, a linter of Kubernetes manifests, built once per version for all checkouts of this user."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT, cache
from provision.shared import link_to_shared

MODULE = ROOT / "mesh" / "kube-score"
COMMAND = "github.com/zegl/kube-score/cmd/kube-score"
HINT = "1 min on 2 cores, once; later checkouts find it in the cache"


def build() -> None:
    """Put `.tools/bin/kube-score` in place, and build it if the shared cache does not have it.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    link_to_shared(BIN / "kube-score", _cached(), lambda into: golang.build("kube-score", MODULE, COMMAND, into, HINT))


def _cached() -> Path:
    pins = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    pinned = re.search(r"zegl/kube-score v(\S+)", pins.decode())
    version = pinned.group(1) if pinned else "unknown"
    return cache() / f"kube-score-{version}-{hashlib.sha256(pins).hexdigest()[:12]}" / "kube-score"
