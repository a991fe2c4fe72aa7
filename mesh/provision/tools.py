"""Third-party programs that only some commands need, each built once per version for all checkouts of this user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from provision import golang
from provision.paths import BIN, ROOT
from provision.shared import link_to_shared


@dataclass(frozen=True, slots=True)
class Tool:
    """A program in Go.

    Attributes:
        program: Name of the program in `.tools/bin`.
        module: Folder of the `go.mod` and `go.sum` that pin it.
        dependency: The module that the program is part of.
        package: The program's package, below that module.
        environment: Variables of its build, in addition to those of every build.
    """

    program: str
    module: Path
    dependency: str
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The program's path in this checkout."""
        return BIN / self.program

    @property
    def cached(self) -> Path:
        """The program's path in the shared cache, by version."""
        return golang.cache_path(self.program, self.module, self.dependency)

    def build(self) -> None:
        """Puts the program in place, and builds it if it is missing in the shared cache.

        Raises:
            SetupError: A module cannot be fetched or does not compile.
        """
        package = f"{self.dependency}/{self.package}"
        hint = "1 min on 2 cores, once; later checkouts find it in the cache"

        def make(into: Path) -> None:
            golang.build(self.program, self.module, package, into, hint, self.environment)

        link_to_shared(self.path, self.cached, make)


KUBE_SCORE = Tool("kube-score", ROOT / "mesh" / "kube-score", "github.com/zegl/kube-score", "cmd/kube-score")
"""A linter for Kubernetes manifests."""
TOXIPROXY = Tool("toxiproxy-server", ROOT / "load" / "toxiproxy", "github.com/Shopify/toxiproxy/v2", "cmd/server")
"""A proxy between two components that cuts, resets or slows connections."""
_WITH_C = {"CGO_ENABLED": "1", "CGO_CFLAGS": "-O0"}
VALE = Tool("vale", ROOT / "mesh" / "vale", "github.com/errata-ai/vale/v3", "cmd/vale", _WITH_C)
"""A linter for prose. Its parsers for programming languages are in C; they are unused here, and compile faster without
optimisation."""
