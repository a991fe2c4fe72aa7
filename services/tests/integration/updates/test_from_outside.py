"""Who comes by the edge watches what is their own, and reads what they ask for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import grpc
import grpc.aio
import pytest

from shop.platform.access import streams
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.grpc import handlers
from shop.stubs import notification_pb2 as pb
from shop.stubs import notification_pb2_grpc
from shop.values.notification import Event
from shop.values.order import OrderStatus

from .conftest import LIMIT_S, Shop

DENIED, MISSING, UNKNOWN = (
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAUTHENTICATED,
)


@pytest.fixture
async def stub(shop: Shop) -> AsyncIterator[notification_pb2_grpc.NotificationServiceStub]:
    """The service as a client sees it whose window is as small as gRPC allows."""
    options = [("grpc.http2.lookahead_bytes", 1_024), ("grpc.http2.bdp_probe", 0)]
    async with grpc.aio.insecure_channel(shop.address, options=options) as channel:
        yield notification_pb2_grpc.NotificationServiceStub(channel)


def metadata(keys: Any, user: int | None, kind: str = "customer", ttl_s: int = 3600) -> list[tuple[str, str]]:
    """What the edge sends along for a customer or a partner."""
    marked = [("x-hopwise-edge", "1")]
    if user is None:
        return marked
    token = TokenSigner(keys.private_pem).sign(Principal(kind, user), ttl_s)  # type: ignore[arg-type]
    return [*marked, ("authorization", f"Bearer {token}")]


async def outcome(call: Any) -> grpc.StatusCode:
    """What a call ends with; of a stream, what its first message is followed by."""
    try:
        async with asyncio.timeout(LIMIT_S):
            if isinstance(call, grpc.aio.UnaryStreamCall):
                if await call.read() is not grpc.aio.EOF:
                    call.cancel()
                    return grpc.StatusCode.OK
                return await call.code()
            await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize(
    ("who", "kind", "listed", "order"),
    [
        ("user", "customer", grpc.StatusCode.OK, grpc.StatusCode.OK),
        ("other", "customer", DENIED, MISSING),
        ("other", "partner", grpc.StatusCode.OK, grpc.StatusCode.OK),
        ("nobody", "customer", UNKNOWN, UNKNOWN),
    ],
)
async def test_customers_see_what_is_their_own(
    shop: Shop, stub: Any, keys: Any, user: int, other: int, who: str, kind: str, listed: Any, order: Any
) -> None:
    bought = await shop.buy(user)
    caller = metadata(keys, {"user": user, "other": other, "nobody": None}[who], kind)
    asked = pb.ListNotificationsRequest(user_id=user)
    assert await outcome(stub.ListNotifications(asked, metadata=caller)) is listed
    read = pb.MarkReadRequest(user_id=user, up_to_position=1)
    assert await outcome(stub.MarkRead(read, metadata=caller)) is listed
    watched = pb.WatchNotificationsRequest(user_id=user)
    assert await outcome(stub.WatchNotifications(watched, metadata=caller)) is listed
    assert await outcome(stub.WatchOrder(pb.WatchOrderRequest(order_id=bought.id), metadata=caller)) is order


@pytest.mark.parametrize("kind", ["customer", "partner"])
async def test_nobody_outside_tells_what_happened(stub: Any, keys: Any, user: int, kind: str) -> None:
    assert await outcome(stub.Notify(pb.NotifyRequest(), metadata=metadata(keys, user, kind))) is DENIED


async def test_a_position_that_is_not_kept_has_a_status_of_its_own(shop: Shop, stub: Any, keys: Any, user: int) -> None:
    for first in range(2):
        await shop.clients.notification.notify(
            [_event(user, number) for number in range(first * 100 + 1, first * 100 + 101)]
        )
    watched = pb.WatchNotificationsRequest(user_id=user, after_position=5)
    call = stub.WatchNotifications(watched, metadata=metadata(keys, user))
    assert await outcome(call) is grpc.StatusCode.OUT_OF_RANGE


async def test_a_stream_ends_with_its_token(stub: Any, keys: Any, user: int) -> None:
    watched = pb.WatchNotificationsRequest(user_id=user)
    call = stub.WatchNotifications(watched, metadata=metadata(keys, user, ttl_s=2))
    await call.read()
    with pytest.raises(grpc.aio.AioRpcError, match="the token has expired"):
        async with asyncio.timeout(LIMIT_S):
            await call.read()
    assert await call.code() is UNKNOWN


async def test_a_stream_counts_for_its_watcher(
    stub: Any, keys: Any, user: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of a customer's streams a partner has open, the customer opens its own, and the partner no more."""
    monkeypatch.setattr(streams, "MAX_PER_PARTNER", 2)
    monkeypatch.setattr(streams, "MAX_PER_CUSTOMER", 1)
    watched = pb.WatchNotificationsRequest(user_id=user)
    async with contextlib.AsyncExitStack() as opened:
        for kind, of, limit in (("partner", other, 2), ("customer", user, 1)):
            for _ in range(limit):
                call = stub.WatchNotifications(watched, metadata=metadata(keys, of, kind))
                opened.callback(call.cancel)
                await call.read()
            one_more = stub.WatchNotifications(watched, metadata=metadata(keys, of, kind))
            assert await outcome(one_more) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def until_closed(shop: Shop) -> None:
    """Waits until no stream is open."""
    async with asyncio.timeout(LIMIT_S):
        while shop.watchers.count:  # noqa: ASYNC110 - nothing says when it is so
            await asyncio.sleep(0.01)


async def test_a_customer_opens_only_so_many_streams_in_a_time(
    shop: Shop, stub: Any, keys: Any, user: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_PER_CUSTOMER", 1)

    def watch(customer: int) -> Any:
        asked = pb.WatchNotificationsRequest(user_id=customer)
        return stub.WatchNotifications(asked, metadata=metadata(keys, customer))

    for _ in range(streams.BURSTS):
        assert await outcome(watch(user)) is grpc.StatusCode.OK
        await until_closed(shop)
    assert await outcome(watch(user)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await outcome(watch(other)) is grpc.StatusCode.OK


async def test_who_does_not_read_is_sent_away(
    shop: Shop, stub: Any, keys: Any, user: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a client lies in the database; the stream ends, and others get theirs."""
    monkeypatch.setattr(handlers, "READ_LIMIT_S", 0.2)
    call = stub.WatchNotifications(pb.WatchNotificationsRequest(user_id=user), metadata=metadata(keys, user))
    await call.read()
    reader = stub.WatchNotifications(pb.WatchNotificationsRequest(user_id=other), metadata=metadata(keys, other))
    await reader.read()
    position = 0
    async with asyncio.timeout(LIMIT_S):
        while shop.watchers.count > 1:
            await shop.clients.notification.notify([_event(user, 10_000 + position + each) for each in range(100)])
            position += 100
            await shop.clients.notification.notify([_event(other, 500_000 + position)])
            assert (await reader.read()).notification.position == position // 100
    reader.cancel()
    with pytest.raises(grpc.aio.AioRpcError, match="does not read"):
        await _rest_of(call)


async def _rest_of(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


def _event(user: int, number: int) -> Event:
    return Event(user * 1_000_000 + number, number, user, OrderStatus.PENDING, datetime.now(UTC))
