"""The spans of a request in its trace: every hop, statement and wait once, and none if it is not sampled."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from opentelemetry.trace import SpanKind, StatusCode

from puppet import Puppet, connected, raising
from recorded_spans import ReadSpan, draw_tree, let_servers_end
from shop.clients.protocol_by_address import connect
from shop.contract.ports import ProductClient, UserClient
from shop.errors import DeadlineExceeded, Unavailable
from shop.platform.config import ServiceConfig
from shop.platform.deadline import deadline
from shop.values.product import Product, StockLine
from shop.values.user import User

pytestmark = pytest.mark.parametrize("session_traces", ["lean", "sdk"], indirect=True)
NOWHERE = 2**62


@pytest.fixture(scope="module")
def protocol() -> str:
    """Only gRPC: spans that are the same over each protocol are tested in a suite for all doors."""
    return "grpc"


def by_kind(spans: Sequence[ReadSpan], kind: SpanKind) -> list[ReadSpan]:
    return [span for span in spans if span.kind is kind]


async def test_every_statement_of_a_transaction_is_one_span(
    traces: Any, product: ProductClient, make_product: Callable[..., Awaitable[Product]]
) -> None:
    tea, key = await make_product(), str(uuid.uuid4())
    with traces.journey() as root:
        await product.reserve_stock(key, [StockLine(tea.id, 1)])
    await let_servers_end()
    statements = [span.name for span in by_kind(traces.of(root), SpanKind.CLIENT)][1:]
    assert statements == ["BEGIN", "INSERT reservation", "SELECT product", "INSERT reservation_line", "COMMIT"]
    (read,) = [span for span in traces.of(root) if span.name == "SELECT product"]
    assert read.attributes == {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.query.summary": "SELECT product",
    }
    with traces.journey() as root:
        await product.confirm_reservation(key)
    await let_servers_end()
    statements = [span.name for span in by_kind(traces.of(root), SpanKind.CLIENT)][1:]
    assert statements == ["BEGIN", "SELECT reservation", "UPDATE product", "COMMIT"]


async def test_login_shows_the_hash(traces: Any, user: UserClient, make_user: Callable[..., Awaitable[User]]) -> None:
    ada = await make_user()
    with traces.journey() as root:
        await user.login(ada.email, "correct horse")
    await let_servers_end()
    spans = traces.of(root)
    assert draw_tree(spans) == (
        "CLIENT shop.user.v1.UserService/Login\n"
        "  SERVER shop.user.v1.UserService/Login\n"
        "    INTERNAL pool.acquire\n"
        "    CLIENT SELECT account\n"
        "    INTERNAL argon2.verify"
    )
    assert ada.email not in "".join(span.text for span in spans)


async def test_stream_ends_its_span_when_it_is_read(traces: Any, product: ProductClient, make_product: Any) -> None:
    made = [await make_product() for _ in range(3)]
    with traces.journey() as root:
        async with aclosing(product.stream_product_rows(after_product_id=made[0].id - 1, limit=3)) as rows:
            async for _ in rows:
                ended = {span.name for span in by_kind(traces.of(root), SpanKind.CLIENT)}
                assert ended <= {"SELECT product"}, "the caller's span lasts as long as the stream"
    await let_servers_end()
    assert draw_tree(traces.of(root)) == (
        "CLIENT shop.product.v1.ProductService/StreamProductRows\n"
        "  SERVER shop.product.v1.ProductService/StreamProductRows\n"
        "    INTERNAL pool.acquire\n"
        "    CLIENT SELECT product"
    )
    caller, callee = traces.of(root)[:2]
    assert caller.end_time >= callee.end_time
    # A stream that its reader abandons halfway ends its span, too.
    with traces.journey() as root:
        rows = product.stream_product_rows(after_product_id=made[0].id - 1, limit=3)
        await anext(rows)
        await rows.aclose()
    await let_servers_end()
    assert len(by_kind(traces.of(root), SpanKind.SERVER)) == 1
    assert traces.of(root)[0].name == "shop.product.v1.ProductService/StreamProductRows"


async def test_cancelled_and_late_calls_end_their_spans(
    traces: Any, product: ProductClient, make_product: Callable[..., Awaitable[Product]], admin: Any
) -> None:
    tea = await make_product()
    with admin.transaction():
        admin.execute("SELECT FROM shop_product.product WHERE id = %s FOR UPDATE", [tea.id])
        with traces.journey() as late, pytest.raises(DeadlineExceeded), deadline(0.15):
            await product.update_product(tea.id, title="Late")
        with traces.journey() as cancelled:
            work = asyncio.ensure_future(product.update_product(tea.id, title="Cancelled"))
            await asyncio.sleep(0.15)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
        await asyncio.sleep(0.2)
    for root, codes in ((late, (1, 4)), (cancelled, (1,))):
        spans = traces.of(root)
        assert [span.kind for span in spans] == [SpanKind.CLIENT, SpanKind.SERVER, SpanKind.INTERNAL, SpanKind.CLIENT]
        assert spans[1].attributes["rpc.grpc.status_code"] in codes
        assert spans[3].status.status_code is StatusCode.ERROR


async def test_tried_again_call_says_how_often(traces: Any) -> None:
    async with connected("grpc", Puppet(raising(Unavailable("briefly away"))), traces.runtime) as clients:
        with traces.journey() as root, pytest.raises(Unavailable):
            await clients.product.get_product(1)
        await let_servers_end()
    caller, *attempts = traces.of(root)
    assert [span.parent.span_id for span in attempts] == [caller.context.span_id] * 3
    assert [span.attributes.get("shop.rpc.previous_attempts", 0) for span in attempts] == [0, 1, 2]


async def test_requests_at_once_keep_their_traces_apart(
    traces: Any, product: ProductClient, make_product: Callable[..., Awaitable[Product]]
) -> None:
    tea = await make_product()

    async def one(sampled: bool) -> Any:
        with traces.journey(sampled=sampled) as root:
            await product.get_product(tea.id)
        return root

    roots = await asyncio.gather(*(one(index % 2 == 0) for index in range(40)))
    await let_servers_end()
    assert [len(traces.of(root)) for root in roots] == [4, 0] * 20
    assert len(traces.all()) == 80


async def test_wait_for_a_connection_is_apart_from_the_statement(
    traces: Any, started: Callable[..., Any], role_url: Callable[[str], str], tmp_path: Path
) -> None:
    alone = ServiceConfig(component="product", database_url=role_url("product"), database_pool=1)
    async with (
        started("grpc", alone, tmp_path) as address,
        connect({"product": address}, "test") as clients,
        await psycopg.AsyncConnection.connect(role_url("product")) as another,
    ):
        # While the table is locked, the first call waits with the only connection, and the second call waits for it.
        await another.execute("LOCK TABLE product")
        with traces.journey() as root:
            calls = asyncio.gather(*(clients.product.list_products(page_size=1000) for _ in range(2)))
            await asyncio.sleep(0.5)
            await another.rollback()
            await calls
        await let_servers_end()
    first, second = sorted(
        (span for span in traces.of(root) if span.name == "pool.acquire"), key=lambda span: span.end_time
    )
    statement = min((span for span in traces.of(root) if span.name == "SELECT product"), key=lambda one: one.end_time)
    assert first.end_time <= statement.start_time
    assert second.end_time >= statement.end_time
    assert second.end_time - second.start_time > 3 * (first.end_time - first.start_time)
