"""Three real systems on PostgreSQL, each with tracing, to put load on with `hopwise load`.

Usage: .venv/bin/python docs/example/target/systems.py kinto|postgraphile|postgraphile-slow|openfga

| system | what it is | needs |
|---|---|---|
| kinto | documents over HTTP, in Python, from PyPI | nothing else |
| postgraphile | GraphQL on Node, from npm | node 20 or newer, npm |
| postgraphile-slow | the same, with a trigger that waits 5 ms before each loan is written | the same |
| openfga | permissions over HTTP and gRPC, in Go | go |

The first start installs the system below `.tools/systems`. The system sends spans to a run's OTLP endpoint, and
runs until Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psycopg

from mesh.components.postgres import Database
from mesh.description.ports import HOST, load_ports
from mesh.native.database_run import open_database
from mesh.paths import ROOT
from mesh.supervisor.processes import guard
from mesh.supervisor.readiness import http_ok
from mesh.supervisor.signals import Interrupted
from provision.environment import uv

FOLDER = ROOT / ".tools" / "systems"
DATE = "2026-11-28"
"""Date after which no version of their dependencies may be."""
APART = 1000
"""Distance between the databases' port bases, and from the port base of the run, whose Jaeger uses the first."""
START_S, END_S = 60.0, 5.0
OTEL = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}

KINTO = """
[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.postgresql
kinto.storage_url = {url}
kinto.permission_backend = kinto.core.permission.postgresql
kinto.permission_url = {url}
kinto.cache_backend = kinto.core.cache.memory
kinto.userid_hmac_secret = example
kinto.bucket_create_principals = system.Everyone
kinto.bucket_read_principals = system.Everyone
kinto.bucket_write_principals = system.Everyone
[server:main]
use = egg:waitress
host = 127.0.0.1
port = 8888
"""
BOOKS = """
CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE book (id int PRIMARY KEY, title text NOT NULL, author_id int NOT NULL REFERENCES author);
CREATE TABLE loan (id serial PRIMARY KEY, book_id int NOT NULL REFERENCES book, customer text NOT NULL);
CREATE INDEX ON book (author_id);
CREATE INDEX ON loan (book_id);
INSERT INTO author SELECT i, 'Author ' || i FROM generate_series(1, 100) i;
INSERT INTO book SELECT i, 'Volume ' || i, 1 + i % 100 FROM generate_series(1, 1000) i;
"""
SLOW = """
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE until timestamptz := clock_timestamp() + '5 ms';
BEGIN PERFORM pg_sleep(0.004); WHILE clock_timestamp() < until LOOP END LOOP; RETURN NEW; END $$;
CREATE TRIGGER wait BEFORE INSERT ON loan FOR EACH ROW EXECUTE FUNCTION wait();
"""
"""The sleep alone lasts some tenths of a millisecond longer than it should, so the last part of the 5 ms is a loop."""
MODEL = b"""{"schema_version": "1.1", "type_definitions": [{"type": "user"},
{"type": "group", "relations": {"member": {"this": {}}},
 "metadata": {"relations": {"member": {"directly_related_user_types": [{"type": "user"}]}}}},
{"type": "doc", "relations": {"reader": {"this": {}}}, "metadata": {"relations": {"reader":
 {"directly_related_user_types": [{"type": "user"}, {"type": "group", "relation": "member"}]}}}}]}"""


def run(*argv: str | Path, env: Mapping[str, str] | None = None) -> None:
    """Runs one command of an installation."""
    subprocess.run([*map(str, argv)], check=True, env={**os.environ, **(env or {})}, cwd=FOLDER)


class Program(NamedTuple):
    """The command that starts a system, and the address of its page."""

    argv: Sequence[str | Path]
    port: int
    page: str
    env: Mapping[str, str] = {}


def kinto(url: str, _receiver: str) -> Program:
    """Installs Kinto with OpenTelemetry's stock instrumentation, and creates its tables."""
    bin_ = FOLDER / "kinto" / "bin"
    if not (bin_ / "kinto").exists():
        run(uv(), "venv", "--python", sys.executable, FOLDER / "kinto")
        run(uv(), "pip", "install", "--python", bin_ / "python", "--exclude-newer", f"{DATE}T00:00:00Z",
            "kinto[postgresql]==26.5.0", "setuptools==80.9.0", *(f"opentelemetry-{name}==0.66b1" for name in (
                "distro", "instrumentation-pyramid", "instrumentation-sqlalchemy", "instrumentation-psycopg2")),
            "opentelemetry-exporter-otlp-proto-http==1.45.1")  # fmt: skip
    settings = FOLDER / "kinto.ini"
    settings.write_text(KINTO.format(url=url), encoding="utf-8")
    run(bin_ / "kinto", "migrate", "--ini", settings)
    return Program([bin_ / "opentelemetry-instrument", bin_ / "kinto", "start", "--ini", settings], 8888, "/v1/")


def postgraphile(url: str, _receiver: str, port: int = 8889) -> Program:
    """Installs PostGraphile with OpenTelemetry's stock instrumentation, and creates its tables."""
    folder = FOLDER / "postgraphile"
    if not (folder / "node_modules").exists():
        folder.mkdir()
        run("npm", "install", "--prefix", folder, "--before", DATE, "--no-audit", "--no-fund", "postgraphile@4.14.1",
            "@opentelemetry/api@1.9.1", "@opentelemetry/auto-instrumentations-node@0.81.2")  # fmt: skip
    with psycopg.connect(url) as connection:
        connection.execute(BOOKS)
    register = (
        folder / "node_modules" / "@opentelemetry" / "auto-instrumentations-node" / "build" / "src" / "register.js"
    )
    env = {"NODE_OPTIONS": f"--require {register}", "OTEL_NODE_ENABLED_INSTRUMENTATIONS": "http,pg,graphql"}
    program = folder / "node_modules" / ".bin" / "postgraphile"
    return Program([program, "-c", url, "-s", "public", "-n", HOST, "-p", str(port)], port, "/graphiql", env)


def postgraphile_slow(url: str, receiver: str) -> Program:
    """Creates a second version of PostGraphile, whose database waits before it writes a loan."""
    program = postgraphile(url, receiver, 8899)
    with psycopg.connect(url) as connection:
        connection.execute(SLOW)
    return program


def openfga(url: str, receiver: str) -> Program:
    """Compiles OpenFGA, which exports OTLP without further libraries, and creates its tables."""
    program = FOLDER / "openfga"
    if not program.exists():
        run("go", "install", "github.com/openfga/openfga/cmd/openfga@v1.10.2",
            env={"GOBIN": str(FOLDER), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "auto"})  # fmt: skip
    store = ["--datastore-engine", "postgres", "--datastore-uri", f"{url}?sslmode=disable"]
    run(program, "migrate", *store)
    traced = ["--trace-enabled", "--trace-sample-ratio", "1", "--trace-otlp-endpoint", receiver]
    listens = ["--http-addr", "127.0.0.1:8890", "--grpc-addr", "127.0.0.1:8891", "--playground-enabled=false"]
    return Program([program, "run", *store, *traced, *listens, "--log-level", "warn"], 8890, "/healthz")


SYSTEMS: Mapping[str, Callable[[str, str], Program]] = {
    "kinto": kinto,
    "postgraphile": postgraphile,
    "postgraphile-slow": postgraphile_slow,
    "openfga": openfga,
}
"""Functions by system: each returns the program for the URL of its database and the run's OTLP receiver over gRPC."""
STORE = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
"""Id of OpenFGA's store, as in the target file."""


def ask(method: str, url: str, body: bytes = b"{}") -> None:
    """Sends a request that sets up a system."""
    headers = {"Content-Type": "application/json", "Authorization": "Basic dTpw"}
    urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=10).close()  # noqa: S310


def fill(name: str, url: str) -> None:
    """Creates the data that the journeys expect in a running system."""
    if name == "kinto":
        ask("PUT", "http://127.0.0.1:8888/v1/buckets/library")
        ask("PUT", "http://127.0.0.1:8888/v1/buckets/library/collections/notes")
    if name == "openfga":
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO store VALUES (%s, 'library', now(), now())", [STORE])
        ask("POST", f"http://127.0.0.1:8890/stores/{STORE}/authorization-models", MODEL)


def fresh(database: Database, name: str) -> str:
    """Creates an empty database, and returns its URL."""
    with psycopg.connect(database.admin_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
    return database.admin_url_of(name)


def wait_for(process: subprocess.Popen[bytes], program: Program) -> None:
    """Waits until a system answers.

    Raises:
        SystemExit: The system has ended, or does not answer in time.
    """
    answers, until = http_ok(program.port, program.page), time.monotonic() + START_S
    while not answers():
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"http://{HOST}:{program.port}{program.page} does not answer")
        time.sleep(0.2)


def main(name: str) -> None:
    """Installs a system, starts it and fills it with data; it then runs until Ctrl-C."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    ports = load_ports(os.environ)
    elsewhere = load_ports({"SHOP_PORT_BASE": str(ports.base + APART * (1 + list(SYSTEMS).index(name)))})
    system, _, version = name.partition("-")
    with open_database(elsewhere, {}) as database:
        url = fresh(database, system)
        program = SYSTEMS[name](url, ports.address("jaeger-otlp-grpc"))
        env = {**os.environ, **OTEL, **program.env}
        env |= {"OTEL_SERVICE_NAME": system, "OTEL_EXPORTER_OTLP_ENDPOINT": ports.url("jaeger-otlp-http")}
        process = subprocess.Popen(guard([*map(str, program.argv)], signal.SIGTERM), env=env, cwd=FOLDER)
        try:
            wait_for(process, program)
            fill(name, url)
            where = f"http://{HOST}:{program.port}{program.page}"
            load = f"hopwise load docs/example/target/{system}.yaml --targets {version or system}"
            print(f"{name} runs at {where}. Load it: {load}", flush=True)
            process.wait()
        finally:
            process.terminate()
            try:
                process.wait(timeout=END_S)
            except subprocess.TimeoutExpired:  # Node's server waits for connections that clients keep open
                process.kill()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SYSTEMS:
        raise SystemExit(f"usage: systems.py {'|'.join(SYSTEMS)}")
    with suppress(Interrupted, KeyboardInterrupt):
        main(sys.argv[1])
