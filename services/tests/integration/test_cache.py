"""Products behind a real Valkey: never older than the last acknowledged change, and never delayed by Valkey."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

import pytest
from opentelemetry.trace import SpanKind
from valkey.asyncio import Valkey as Client

from measured.runtime import running
from measured.settings import Measurement
from shop.errors import PreconditionFailed
from shop.money import Money
from shop.platform.cache.connections import CacheConnections
from shop.platform.cache.entries import LEASE_MS, Entries
from shop.platform.config import ServiceConfig
from shop.platform.database.pool import connect_database
from shop.product.bootstrap import bootstrap
from shop.product.cached import CachedProductStore
from shop.product.domain import NewProduct, ProductChange
from shop.product.postgres import PostgresProductStore
from shop.product.service import ProductService
from shop.values.product import Product, StockLine

BOUND_MS = 60_000
TEA = NewProduct("Tea pot", "Holds tea.", "tea", Money(1999, "EUR"), 10)


class Counting(PostgresProductStore):
    """The store on the tables; it counts the products that are read by their ids."""

    reads = 0

    async def get(self, product_id: int) -> Product | None:
        self.reads += 1
        return await super().get(product_id)

    async def batch_get(self, ids: Sequence[int]) -> list[Product]:
        self.reads += len(ids)
        return await super().batch_get(ids)


@dataclass
class Replica:
    """One of two processes of the product service, as far as the cache can tell."""

    tables: Counting
    cache: CacheConnections
    entries: Entries[Product]
    service: ProductService

    async def stock(self, product_id: int) -> int:
        return (await self.service.get_product(product_id)).stock


Start = Callable[..., Awaitable[Replica]]


@pytest.fixture
async def start(valkey, role_url) -> AsyncIterator[Start]:
    """Starts replicas, which share a namespace that no other test uses."""
    database, namespace = await connect_database(role_url("product"), 4), uuid.uuid4().hex
    opened: list[CacheConnections] = []

    async def replica(url: str = valkey.url, limit_s: float = 5.0) -> Replica:
        cache = CacheConnections(url, lambda *_: None, limit_s=limit_s)
        await cache.open()
        opened.append(cache)
        tables, entries = Counting(database), Entries(cache, Product, namespace=namespace, bound_ms=BOUND_MS)
        return Replica(tables, cache, entries, ProductService(CachedProductStore(tables, entries)))

    yield replica
    for cache in opened:
        await cache.close()
    await database.close()


@pytest.fixture
async def client(valkey) -> AsyncIterator[Client]:
    async with aclosing(Client.from_url(valkey.url)) as opened:
        yield opened


@contextmanager
def frozen(valkey) -> Iterator[None]:
    """Freezes the Valkey server, which then accepts commands but does not answer."""
    (pid,) = valkey.supervisor.pids_by_component()["valkey"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def until_asked(replica: Replica) -> None:
    """Waits until a replica is reading from the cache again."""
    for _ in range(1_000):
        if await replica.cache.ask("GET", "product", "PING") is not None:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the cache is out of use for good")


async def test_rows_are_read_from_the_cache_by_every_replica(start: Start):
    one, other = await start(), await start()
    made = [await one.tables.add(TEA) for _ in range(3)]
    ids = [product.id for product in made]
    assert await one.service.batch_get_products(ids[:2]) == made[:2]
    assert await other.service.get_product(ids[0]) == made[0]
    assert await other.service.batch_get_products(ids) == made
    assert (one.tables.reads, other.tables.reads) == (2, 1)


@pytest.mark.parametrize("change", ["update", "reserve", "release", "delete"])
async def test_every_change_is_seen_by_the_next_reader(start: Start, change: str):
    one, other = await start(), await start()
    product = await one.tables.add(TEA)
    reservation = str(uuid.uuid4())
    changes = {
        "update": lambda: one.service.update_product(product.id, stock=7, expected=product),
        "reserve": lambda: one.service.reserve_stock(reservation, [StockLine(product.id, 3)]),
        "release": lambda: one.service.release_reservation(reservation),
        "delete": lambda: one.service.delete_product(product.id),
    }
    if change == "release":
        await changes["reserve"]()
    assert await other.stock(product.id) == (7 if change == "release" else 10)
    await changes[change]()
    left = await other.service.batch_get_products([product.id])
    assert [row.stock for row in left] == {"update": [7], "reserve": [7], "release": [10], "delete": []}[change]


async def test_a_row_that_was_read_before_a_commit_is_not_stored_after_it(start: Start):
    reader, writer = await start(), await start()
    product = await reader.tables.add(TEA)

    async def read_then_changed(ids: Sequence[int]) -> list[Product]:
        rows = await reader.tables.batch_get(ids)
        await writer.service.update_product(product.id, stock=1, expected=product)
        return rows

    assert [row.stock for row in await reader.entries.read([product.id], read_then_changed)] == [10]
    assert await writer.stock(product.id) == await reader.stock(product.id) == 1


async def test_a_condition_is_compared_with_the_row_and_not_with_a_stale_entry(start: Start):
    replica = await start()
    product = await replica.tables.add(TEA)
    stale = await replica.service.get_product(product.id)
    await replica.tables.change(product.id, ProductChange(stock=7), product)
    assert await replica.stock(product.id) == 10
    with pytest.raises(PreconditionFailed):
        await replica.service.update_product(product.id, stock=11, expected=stale)
    assert await replica.stock(product.id) == 7


async def test_an_entry_ends_by_itself_within_the_bound_of_its_row_being_read(start: Start, client: Client):
    replica = await start()
    product = await replica.tables.add(TEA)
    leases: list[int] = []

    async def load(ids: Sequence[int]) -> list[Product]:
        (key,) = [key async for key in client.scan_iter(f"*:{product.id}")]
        leases.append(await client.pttl(key))
        return await replica.tables.batch_get(ids)

    await replica.entries.read([product.id], load)
    (key,) = [key async for key in client.scan_iter(f"*:{product.id}")]
    assert 0 < leases[0] <= LEASE_MS
    assert 0 < await client.pttl(key) <= BOUND_MS - LEASE_MS


async def test_garbage_and_another_product_count_as_not_there(start: Start, client: Client):
    replica = await start()
    product, other = [await replica.tables.add(TEA) for _ in range(2)]
    await replica.service.batch_get_products([product.id, other.id])
    (key,) = [key async for key in client.scan_iter(f"*:{product.id}")]
    (of_other,) = [key async for key in client.scan_iter(f"*:{other.id}")]
    for garbage in (b"", b"\xc1", b"\x80", await client.get(of_other)):
        await client.set(key, garbage)
        assert await replica.service.get_product(product.id) == product
    assert replica.tables.reads == 6


async def test_a_frozen_cache_fails_no_request_and_loses_old_rows_before_it_is_read_again(start: Start, valkey):
    replica = await start(limit_s=0.2)
    made = [await replica.tables.add(TEA) for _ in range(2)]
    ids = [product.id for product in made]
    await replica.service.batch_get_products(ids)
    with frozen(valkey):
        # The second removal is not even attempted: the cache is out of use.
        for product in made:
            await replica.service.update_product(product.id, stock=3, expected=product)
            assert await replica.stock(product.id) == 3
    await until_asked(replica)
    assert [await replica.stock(id_) for id_ in ids] == [3, 3]


async def test_a_killed_cache_fails_no_request_and_is_used_again_once_it_is_back(start: Start, valkey):
    replica = await start()
    product = await replica.tables.add(TEA)
    valkey.supervisor.kill("valkey")
    for stock in (5, 6):
        product = await replica.service.update_product(product.id, stock=stock, expected=product)
        assert await replica.stock(product.id) == stock
    valkey.supervisor.restart("valkey")
    await until_asked(replica)
    assert [await replica.stock(product.id) for _ in range(2)] == [6, 6]
    assert replica.tables.reads == 3


async def test_each_question_is_a_span_of_the_cache(start: Start, traces):
    replica = await start()
    product = await replica.tables.add(TEA)
    with traces.journey() as root:
        await replica.stock(product.id)
        await replica.service.update_product(product.id, stock=3, expected=product)
    spans = [span for span in traces.of(root) if span.attributes.get("db.system.name") == "valkey"]
    assert [(span.name, span.kind) for span in spans] == [
        (name, SpanKind.CLIENT) for name in ("GET product", "SET product", "DEL product")
    ]
    assert [span.attributes["db.operation.name"] for span in spans] == ["GET", "SET", "DEL"]


async def test_a_process_counts_cache_hits_per_second(valkey, role_url, tmp_path):
    config = ServiceConfig(
        component="product",
        database_url=role_url("product"),
        cache_url=valkey.url,
        cache_namespace=uuid.uuid4().hex,
        cache_limit_ms=5_000,
    )
    measurement = Measurement(telemetry_folder=str(tmp_path))
    async with running(config, measurement) as runtime, bootstrap(config, runtime) as service:
        product = await service.create_product(title="Tea", description="", category="tea", price=TEA.price, stock=1)
        for _ in range(3):
            await service.batch_get_products([product.id, 10**9])
    seconds = json.loads((tmp_path / "cache" / "product.json").read_bytes())
    assert [sum(counts) for counts in zip(*seconds, strict=True)][1:] == [6, 2, 0]


async def test_a_full_cache_fails_no_request(start: Start, client: Client):
    replica = await start()
    product = await replica.tables.add(TEA)
    before = await client.config_get("maxmemory*")
    await client.config_set("maxmemory-policy", "noeviction")
    await client.config_set("maxmemory", 1)
    try:
        await replica.service.update_product(product.id, stock=2, expected=product)
        assert [await replica.stock(product.id) for _ in range(2)] == [2, 2]
        assert replica.tables.reads == 2
    finally:
        for name in ("maxmemory-policy", "maxmemory"):
            await client.config_set(name, before[name])


async def test_a_service_starts_without_its_cache(start: Start):
    replica = await start("valkey://127.0.0.1:9")
    product = await replica.tables.add(TEA)
    assert await replica.service.get_product(product.id) == product
    await replica.service.update_product(product.id, stock=1, expected=product)
    assert await replica.stock(product.id) == 1
