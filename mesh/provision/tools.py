"""Programs in Go that only some commands need, each built once per version for all checkouts of this user."""

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
        module: Folder of the `go.mod` and `go.sum` that pin it.
        dependency: The third-party module that it is part of, or that our own program is made of.
        package: The program's package, below that module; our own package begins with `./`.
        environment: Variables of its build, in addition to those of every build.
        title: Name of the program, for people.
        hint: How long the build takes, roughly.
    """

    program: str
    module: Path
    dependency: str
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    hint: str = "1 min on 2 cores, once; later checkouts find it in the cache"

    @property
    def path(self) -> Path:
        """The program's path in this checkout."""
        return BIN / self.program

    @property
    def is_our_own(self) -> bool:
        """Whether its package is in this checkout."""
        return self.package.startswith("./")

    @property
    def cached(self) -> Path:
        """The program's path in the shared cache, by version."""
        sources = sorted((self.module / self.package).glob("*.go")) if self.is_our_own else []
        own = b"".join(source.read_bytes() for source in sources)
        return golang.cache_path(self.program, self.module, self.dependency, own)

    def build(self) -> None:
        """Puts the program in place, and builds it if it is missing in the shared cache."""
        package = self.package if self.is_our_own else f"{self.dependency}/{self.package}"

        def make(into: Path) -> None:
            golang.build(self.title or self.program, self.module, package, into, self.hint, self.environment)

        link_to_shared(self.path, self.cached, make)


KUBE_SCORE = Tool("kube-score", ROOT / "mesh" / "kube-score", "github.com/zegl/kube-score", "cmd/kube-score")
"""A linter for Kubernetes manifests."""
TOXIPROXY = Tool("toxiproxy-server", ROOT / "load" / "toxiproxy", "github.com/Shopify/toxiproxy/v2", "cmd/server")
"""A proxy between two components that cuts, resets or slows connections."""
_WITH_C = {"CGO_ENABLED": "1", "CGO_CFLAGS": "-O0"}
VALE = Tool("vale", ROOT / "mesh" / "vale", "github.com/errata-ai/vale/v3", "cmd/vale", _WITH_C)
"""A linter for prose. Its parsers for programming languages are in C; they are unused here, and compile faster without
optimisation."""
_ISTIO = {"istiod": "./istiod", "pilot-agent": "pilot/cmd/pilot-agent", "istioctl": "istioctl/cmd/istioctl"}
_ISTIO_HINT = "6 min on 2 cores for all three programs, once; later checkouts find them in the cache"
ISTIO = tuple(
    Tool(name, ROOT / "mesh" / "istio", "istio.io/istio", package, title=f"Istio's {name}", hint=_ISTIO_HINT)
    for name, package in _ISTIO.items()
)
"""The programs that only a mesh of Istio needs; only istiod includes our own code."""


def build_istio() -> None:
    """Builds Istio's programs, as `Tool.build` does."""
    for program in ISTIO:
        program.build()
