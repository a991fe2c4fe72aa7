"""kube-score, a linter of Kubernetes manifests, built once per version for all checkouts of this user."""

from __future__ import annotations

from provision import golang
from provision.paths import BIN, ROOT
from provision.shared import link_to_shared

MODULE = ROOT / "mesh" / "kube-score"
DEPENDENCY = "github.com/zegl/kube-score"
COMMAND = f"{DEPENDENCY}/cmd/kube-score"
HINT = "1 min on 2 cores, once; later checkouts find it in the cache"


def build() -> None:
    """Puts `.tools/bin/kube-score` in place, and builds it if the shared cache does not have it.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    program = golang.cached("kube-score", MODULE, DEPENDENCY)
    link_to_shared(BIN / "kube-score", program, lambda into: golang.build("kube-score", MODULE, COMMAND, into, HINT))
