"""Programs of others that only some commands need, each built once per version for all checkouts of this user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT
from provision.shared import link_to_shared


@dataclass(frozen=True, slots=True)
class Tool:
    """A program in Go.

    Attributes:
        program: Its name in `.tools/bin`.
        module: Folder of the `go.mod` and `go.sum` that pin it.
        dependency: The module that it is part of.
        package: Its package, below that.
    """

    program: str
    module: Path
    dependency: str
    package: str

    def build(self) -> None:
        """Puts it in place, and builds it if the shared cache does not have it.

        Raises:
            SetupError: A module cannot be fetched or does not compile.
        """
        cached = golang.cached(self.program, self.module, self.dependency)
        package, hint = (
            f"{self.dependency}/{self.package}",
            "1 min on 2 cores, once; later checkouts find it in the cache",
        )
        link_to_shared(
            BIN / self.program, cached, lambda into: golang.build(self.program, self.module, package, into, hint)
        )


KUBE_SCORE = Tool("kube-score", ROOT / "mesh" / "kube-score", "github.com/zegl/kube-score", "cmd/kube-score")
"""A linter of Kubernetes manifests."""
TOXIPROXY = Tool("toxiproxy-server", ROOT / "load" / "toxiproxy", "github.com/Shopify/toxiproxy/v2", "cmd/server")
"""Stands between two components, and cuts, resets or slows what passes."""
