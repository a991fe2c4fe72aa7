"""Fixtures for the tests of all services: a real PostgreSQL with the shop's schema, keys, and recorded spans."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, SpanContext, TraceFlags

from dataset.seed import prepare
from dataset.trial import create_trial
from mesh.components.postgres import Database, database, postgres_components
from mesh.components.postgres_owner import remove_cluster
from mesh.components.shop_processes import role_name, role_passwords
from mesh.components.valkey import cache, valkey_components
from mesh.description.ports import Ports
from mesh.paths import RunFolder
from mesh.supervisor.processes import Supervisor
from mesh.supervisor.signals import Interrupts
from recorded_spans import ReadSpan, sdk_tracing, spans_of, spans_of_sdk
from recording.lean.recorder import Recorder
from recording.loop import LoopNotes
from shop.database.migrate import migrate
from shop.database.roles import set_passwords
from shop.platform.config import ServiceConfig
from shop.platform.process.logs import configure_logging
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.recorder import Tracing
from shop.platform.telemetry.tracing import Spans
from tokens import keys, signer, verifier

__all__ = ["keys", "signer", "verifier"]
DATABASE = "shop_test"


@dataclass(frozen=True)
class Valkey:
    """A Valkey server: its URL, and functions that kill and restart it."""

    url: str
    supervisor: Supervisor


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The text that this process logs, as if to standard error; afterwards, the root logger is restored."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(ServiceConfig(component="product"), stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def admin_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The superuser's URL of a PostgreSQL that is only for tests."""
    ports = Ports(free_port(), {"postgres": 0})
    folder = RunFolder.of(ports.base, tmp_path_factory.mktemp("postgres"))
    supervisor = Supervisor(folder, Interrupts())
    try:
        supervisor.start(postgres_components(folder, ports))
        yield database(ports, {}, folder).admin_url
    finally:
        supervisor.stop()
        remove_cluster(folder)


@pytest.fixture(scope="session")
def valkey(admin_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    ports = Ports(free_port(), {"valkey": 0})
    folder = RunFolder.of(ports.base, tmp_path_factory.mktemp("valkey"))
    supervisor = Supervisor(folder, Interrupts())
    server = cache(ports, {}, Database(admin_url, embedded=True))
    try:
        supervisor.start(valkey_components(server, folder, ports))
        yield Valkey(server.url, supervisor)
    finally:
        supervisor.stop()


@pytest.fixture(scope="session")
def passwords(admin_url: str) -> dict[str, str]:
    return role_passwords(Database(admin_url, embedded=True))


@pytest.fixture(scope="session")
def shop_url(admin_url: str, passwords: dict[str, str]) -> str:
    """The superuser's URL of a database with the shop's schema and no rows."""
    with contextlib.closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        admin.execute(f"CREATE DATABASE {DATABASE}")
    url = admin_url.rpartition("/")[0] + f"/{DATABASE}"
    migrate(url)
    with contextlib.closing(psycopg.connect(url, autocommit=True)) as admin:
        set_passwords(admin, passwords)
    return url


@pytest.fixture(scope="session")
def role_url(shop_url: str) -> Callable[[str], str]:
    """Returns a function from a service's name to the database URL for that service's role."""
    return lambda service: Database(shop_url, embedded=True).url(role_name(service), DATABASE)


@pytest.fixture
def admin(shop_url: str) -> Iterator[psycopg.Connection]:
    """A connection that reads and writes the shop's rows without the services."""
    with contextlib.closing(psycopg.connect(shop_url, autocommit=True)) as connection:
        yield connection


@dataclass(frozen=True)
class Trial:
    """A database that was copied from the template."""

    admin_url: str
    name: str

    @property
    def url(self) -> str:
        return self.admin_url.rpartition("/")[0] + f"/{self.name}"

    def role_url(self, service: str) -> str:
        return Database(self.admin_url, embedded=True).url(role_name(service), self.name)


@pytest.fixture(scope="session")
def template(admin_url: str, passwords: dict[str, str]) -> str:
    """The seeded template of seed 1, scale 1."""
    return prepare(admin_url, passwords, seed=1, scale=1)


@contextlib.contextmanager
def fresh_trial(admin_url: str, template: str) -> Iterator[Trial]:
    name = create_trial(admin_url, template=template, name=f"trial_{uuid.uuid4().hex[:12]}")
    yield Trial(admin_url, name)
    with contextlib.closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def trial(admin_url: str, template: str) -> Iterator[Trial]:
    """A seeded database that is only for this test."""
    with fresh_trial(admin_url, template) as made:
        yield made


@pytest.fixture(scope="module")
def shared_trial(admin_url: str, template: str) -> Iterator[Trial]:
    """A seeded database that the tests of one module share; no test leaves anything unfinished."""
    with fresh_trial(admin_url, template) as made:
        yield made


@dataclass(frozen=True)
class Traces:
    runtime: Runtime
    all: Callable[[], list[ReadSpan]]
    clear: Callable[[], None]

    @contextlib.contextmanager
    def journey(self, *, sampled: bool = True) -> Iterator[SpanContext]:
        """Acts like a load generator: everything in the context belongs to a new trace, sampled or not."""
        identity = uuid.uuid4().int
        root = SpanContext(identity, identity & (2**64 - 1), False, TraceFlags(TraceFlags.SAMPLED if sampled else 0))
        with self.runtime.spans.below(root):
            yield root

    def of(self, root: SpanContext) -> list[ReadSpan]:
        of_trace = [span for span in self.all() if span.context.trace_id == root.trace_id]
        return sorted(of_trace, key=lambda span: (span.start_time, -span.end_time))


class Recording:
    """Records the spans of all tests, with the recorder that a test chooses."""

    tracing: Tracing = Recorder()

    def start(self, *args: Any, **options: Any) -> Span:
        return self.tracing.start(*args, **options)

    def note(self, *args: Any, **options: Any) -> None:
        self.tracing.note(*args, **options)


@pytest.fixture(scope="session")
def recording() -> Recording:
    return Recording()


@pytest.fixture(scope="session")
def runtime(recording: Recording) -> Runtime:
    """The runtime of the components in this process: their spans are recorded."""
    return Runtime(Spans(recording, LoopNotes().note_moment))


@pytest.fixture(scope="session")
def session_traces(request: pytest.FixtureRequest, recording: Recording, runtime: Runtime) -> Traces:
    """The recorder of spans: `lean`, unless a test has the parameter `sdk`."""
    recorder, exporter = Recorder(), InMemorySpanExporter()
    if getattr(request, "param", "lean") == "sdk":
        recording.tracing = sdk_tracing(exporter)
        return Traces(runtime, partial(spans_of_sdk, exporter), exporter.clear)
    recording.tracing = recorder
    return Traces(runtime, partial(spans_of, recorder), recorder.waiting.clear)


@pytest.fixture
def traces(session_traces: Traces) -> Traces:
    """The spans of this test, and no others."""
    session_traces.clear()
    return session_traces


@pytest.fixture(scope="session")
def free_addresses() -> Callable[[], str]:
    """Returns a function that returns a different free address of this machine each time."""
    return lambda: f"127.0.0.1:{free_port()}"


@pytest.fixture
def free_address(free_addresses: Callable[[], str]) -> str:
    return free_addresses()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
