"""Fixtures and hooks that the tests of all folders share.

The folder `mesh/` has the name of the package inside it: importing it first keeps Python from taking the folder for it.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import signal
import ssl
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import certifi
import pytest
from hypothesis import settings

import mesh  # noqa: F401
from mesh.description.ports import Ports, load_ports
from mesh.errors import PortError

# How long an example takes depends on the machine's other load.
settings.register_profile("hopwise", deadline=None, max_examples=50)
settings.load_profile("hopwise")

# NumPy and Polars read these when they are imported, which may be before `pytest_configure`. They get one thread per
# process: tests' tables are small, and threads would wait for each other.
for library in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(library, "1")

SHARED_SYSTEMS = (
    "services/tests/integration/edge/",
    "load/tests/integration/running/",
    "mesh/tests/integration/meshed/",
)
"""Folders whose files share systems that take seconds to start: one worker runs all files of such a folder."""

BASES = range(10_000, 17_800, 200)
"""Port bases for tests: below the ports that the kernel gives to outgoing connections, and below the default base."""
SHOP_BASES = 2
"""Number of a worker's port bases that are only for `shop_ports`."""


def this_worker() -> tuple[int, int]:
    """Returns the number of this worker, from 0, and how many workers run side by side."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return int(worker), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def bases_of_worker() -> Sequence[int]:
    """Returns the port bases of this worker; workers that run side by side have different ones."""
    worker, workers = this_worker()
    return BASES[worker::workers]


def port_finder(bases: Sequence[int]) -> Callable[[], Ports]:
    """Returns a function that finds the next port base of a list whose ports are all free."""
    turns = itertools.cycle(bases)

    def find() -> Ports:
        for base in itertools.islice(turns, len(bases)):
            ports = load_ports({"SHOP_PORT_BASE": str(base)})
            with contextlib.suppress(PortError):
                ports.require_free(ports.offsets)
                for address in ports.addresses.values():
                    ports.require_free(ports.offsets, at=address)
                return ports
        raise AssertionError(f"none of the port bases {bases} is free")

    return find


@pytest.fixture(scope="session")
def free_ports() -> Callable[[], Ports]:
    """Finds a port base whose ports are all free, and which is never the one of `shop_ports`."""
    return port_finder(bases_of_worker()[SHOP_BASES:])


@pytest.fixture(scope="session")
def shop_ports() -> Ports:
    """A port base for shops that run one after another.

    The run's folder has one database cluster, which is created and seeded once; every shop starts with a fresh copy of
    the data. Tests that run two shops at once, or damage the cluster, use `free_ports`.
    """
    return port_finder(bases_of_worker()[:SHOP_BASES])()


@pytest.fixture(scope="module", autouse=True)
def charts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leaves charts empty, as a report has dozens; a module that looks at charts has `DRAWN = True`."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "DRAWN", False):
            patch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: "<svg></svg>")
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets clients load one of the usual authorities: loading all of them takes longer than most tests."""
    first, end, _ = certifi.contents().partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("authorities") / "first.pem"
    file.write_text(first + end)
    create, usual = ssl.create_default_context, (certifi.where(), os.environ.get("SSL_CERT_FILE", certifi.where()))

    def create_small(*args: Any, cafile: str | None = None, **named: Any) -> ssl.SSLContext:
        return create(*args, cafile=str(file) if cafile in usual else cafile, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ssl.create_default_context", create_small)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Restores signals that the starter of the tests ignores, as `nohup` and background jobs do.

    Otherwise, the programs that tests start would ignore them too, and tests that send them would wait in vain.
    """
    for ignored, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(ignored) is signal.SIG_IGN:
            signal.signal(ignored, usual)
    # In a new clone, pytest compiles every test file and keeps the result: workers that begin with different folders
    # share that work.
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        worker, workers = this_worker()
        first = worker * len(config.args) // workers
        config.args = [*config.args[first:], *config.args[:first]]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the tests in folders with the name `integration`."""
    if "/integration/" in item.nodeid:
        item.add_marker("integration")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts tests that wait for processes first; tests that compute fill the gaps, and the end.

    All workers have the same order, regardless of the folder that they began with.
    """
    folders = config.getini("testpaths")

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = next((at for at, folder in enumerate(folders) if item.nodeid.startswith(folder)), len(folders))
        return item.get_closest_marker("integration") is None, folder

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Turns garbage collection off while it imports and collects, and later skips the objects made by then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Gives each worker whole files, and whole folders where files share a system."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            shared = (folder for folder in SHARED_SYSTEMS if nodeid.startswith(folder))
            return next(shared, super()._split_scope(nodeid))

    return ByFileOrFolder(config, log)
