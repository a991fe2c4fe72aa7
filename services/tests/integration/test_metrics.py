"""A process's metrics, as Prometheus reads them, over each protocol; the client is in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.semconv._incubating.metrics import db_metrics, http_metrics, rpc_metrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.errors import NotFound
from shop.order.backlog import Backlog
from shop.platform.config import ServiceConfig, StartError
from shop.platform.database.pool import connect_database
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.metering import metering, trace_id_of
from shop.platform.telemetry.meters import Meters, prometheus_name

NOWHERE = 2**62
OPEN_METRICS = {"accept": "application/openmetrics-text; version=1.0.0"}
SERVED = {
    "rest": ("http_server_request_duration_seconds", {"http_route": "/v1/products/{product_id}"}),
    "graphql": ("http_server_request_duration_seconds", {"http_route": "/graphql", "shop_operation": "product"}),
    "grpc": ("rpc_server_call_duration_seconds", {"rpc_method": "shop.product.v1.ProductService/GetProduct"}),
    "thrift": ("rpc_server_call_duration_seconds", {"rpc_method": "ProductService/GetProduct"}),
}


@pytest.fixture(scope="module", params=sorted(SERVED))
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def measured(free_address: str, runtime: Runtime) -> AsyncIterator[Runtime]:
    async with metering(ServiceConfig(component="product", listen_metrics=free_address)) as meters:
        yield replace(runtime, meters=meters)


@pytest.fixture
async def scraped(free_address: str, measured: Runtime) -> Callable[[], list[Sample]]:
    def read() -> list[Sample]:
        answer = httpx.get(f"http://{free_address}/metrics", headers=OPEN_METRICS, trust_env=False)
        return [one for family in text_string_to_metric_families(answer.text) for one in family.samples]

    return read


@pytest.fixture
async def clients(
    measured: Runtime, protocol: str, role_url: Callable[[str], str], started: Callable[..., Any], tmp_path: Path
) -> AsyncIterator[Clients]:
    config = ServiceConfig(component="product", database_url=role_url("product"), database_pool=2)
    async with (
        started(protocol, config, tmp_path, runtime=measured) as address,
        connect({"product": address}, "test", runtime=measured) as made,
    ):
        yield made


def of(samples: list[Sample], name: str, **labels: str) -> list[Sample]:
    return [one for one in samples if one.name == name and labels.items() <= one.labels.items()]


async def test_a_call_is_measured_on_both_sides_and_leads_to_its_trace(
    clients: Clients, scraped: Callable[[], list[Sample]], protocol: str, traces: Any
) -> None:
    with traces.journey() as root, pytest.raises(NotFound):
        await clients.product.get_product(NOWHERE)
    with pytest.raises(NotFound):
        await clients.product.get_product(NOWHERE)
    await asyncio.sleep(0.05)
    samples = await asyncio.to_thread(scraped)
    trace = {"trace_id": f"{root.trace_id:032x}"}
    server, labels = SERVED[protocol]
    for name in (server, server.replace("server", "client")):
        asked = labels if "server" in name else {}
        (count,) = of(samples, f"{name}_count", **asked)
        # A GraphQL client is answered once that its document is not known yet.
        assert count.value == 2 + (name.startswith("http_client") and protocol == "graphql")
        shown = [one.exemplar for one in of(samples, f"{name}_bucket", **asked) if one.exemplar]
        assert shown
        assert all(exemplar.labels == trace for exemplar in shown)
        # A request for something that does not exist is not a failure of the server.
        assert "client" in name or count.labels["error_type"] == ""
    statement = {"db_query_summary": "SELECT product", "error_type": ""}
    (statements,) = of(samples, "db_client_operation_duration_seconds_count", **statement)
    assert statements.value == 2
    pool = {"db_client_connection_pool_name": "requests"}
    states = of(samples, "db_client_connection_count", **pool)
    assert {one.labels["db_client_connection_state"]: one.value for one in states} == {"idle": 2, "used": 0}
    for time in ("wait_time", "use_time"):
        assert of(samples, f"db_client_connection_{time}_seconds_count", **pool)[0].value == 2


async def test_waiting_for_a_connection_is_counted(
    measured: Runtime, scraped: Callable[[], list[Sample]], role_url: Callable[[str], str]
) -> None:
    pool = {"db_client_connection_pool_name": "alone"}

    async def count(what: str) -> list[float]:
        samples = await asyncio.to_thread(scraped)
        return [one.value for one in of(samples, f"db_client_connection_{what}", **pool)]

    database = await connect_database(role_url("product"), 1, name="alone", meters=measured.meters)
    async with database.acquire():
        waiting = asyncio.create_task(database.fetch("SELECT 1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert await count("pending_requests") == [1]
        waiting.cancel()
    assert [await count(what) for what in ("pending_requests", "timeouts_total")] == [[0], [1]]
    await database.close()


STUCK = """
    INSERT INTO checkout
        (id, user_id, idempotency_key, request_hash, state, step, instance, boot, lease_until, updated_at)
    SELECT gen_random_uuid(), 1, number::text, '', 'RUNNING', 'RESERVE', '', gen_random_uuid(), now(),
        now() - number * interval '100 s'
    FROM generate_series(1, 3) number
"""
LATE = "INSERT INTO outbox (order_id, user_id, status, happened_at) VALUES (1, 1, 'PENDING', now() - interval '1 hour')"


async def test_the_backlog_is_counted_with_its_oldest_age(trial: Any) -> None:
    meters = Meters()
    database = await connect_database(trial.role_url("order"), 1)
    backlog = Backlog(database, meters)

    async def read_backlog() -> list[float | None]:
        await backlog.look()
        saga = {"shop_saga_name": "checkout", "shop_saga_state": "RUNNING"}
        read = meters.registry.get_sample_value
        sagas = [read(f"shop_saga_{what}", saga) for what in ("waiting", "oldest_age_seconds")]
        return [*sagas, read("shop_outbox_waiting"), read("shop_outbox_oldest_age_seconds")]

    assert await read_backlog() == [0, 0, 0, 0]
    for statement in (STUCK, LATE):
        await database.fetch(statement)
    waiting, oldest, events, age = await read_backlog()
    assert (waiting, events) == (3, 1)
    # Ages are by the database's clock, and grow during this test.
    assert oldest >= 300
    assert age >= 3600
    await database.fetch("DELETE FROM outbox")
    assert (await read_backlog())[2:] == [0, 0]
    await database.close()


async def test_nothing_is_measured_unless_configured() -> None:
    async with metering(ServiceConfig(component="product")) as meters:
        assert meters is None


async def test_a_port_in_use_is_named(measured: Runtime, free_address: str) -> None:
    with pytest.raises(StartError, match=free_address):
        async with metering(ServiceConfig(component="product", listen_metrics=free_address)):
            pass


@pytest.mark.parametrize(
    ("sent", "trace_id"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", ""),
        ('00-"} 1 # {trace_id="x-b7ad6b7169203331-01', ""),
        ("-01", ""),
        (None, ""),
    ],
)
def test_only_a_sampled_trace_is_named(sent: str | None, trace_id: str) -> None:
    assert trace_id_of(sent) == trace_id


def test_names_are_those_of_the_conventions() -> None:
    shown = {family.name for family in Meters().registry.collect()}
    conventions = {
        value
        for module in (db_metrics, http_metrics, rpc_metrics)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    known = {prometheus_name(name) for name in conventions}
    ours = {name.removesuffix("_seconds") for name in shown if name.startswith(("db", "http", "rpc"))}
    assert len(ours) == 8
    assert ours <= known
