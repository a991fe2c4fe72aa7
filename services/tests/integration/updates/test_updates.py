"""Customers' notifications: the same at each door, over REST, GraphQL and gRPC.

The gateways call the notification service over GraphQL; tests of traces call it over gRPC.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from memory_shop import MemoryShop
from served_shop import served_gateways
from shop.errors import InvalidArgument, PositionGone
from shop.notification import postgres
from shop.notification.postgres import PostgresNotifications
from shop.notification.watching import AT_ONCE, Watchers
from shop.platform.access import streams as limits
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.access.streams import Streams
from shop.platform.config import EDGE_MARK
from shop.platform.database.statements import Statement
from shop.platform.deadline import DEADLINE_HEADER
from shop.stubs import notification_pb2 as pb
from shop.values.notification import KEPT, Event
from shop.values.order import CheckoutLine, OrderStatus
from update_doors import LIMIT_S, GraphqlDoor, GrpcDoor, Headers, Refused, RestDoor, Update

from .conftest import Shop, open_stream

DOORS = ("graphql-events", "graphql-socket", "grpc", "rest", "rest-gateway")
PENDING, CONFIRMED, SHIPPED = OrderStatus.PENDING, OrderStatus.CONFIRMED, OrderStatus.SHIPPED
WHEN = "2026-01-02T03:04:05.678900Z"
EVENT_IDS = itertools.count(1_000_000)
NOWHERE = 987_654_321
By = Callable[..., Headers]
Next = Callable[[], Awaitable[Update]]


def event(user: int, status: OrderStatus = PENDING, order: int = 1) -> Event:
    """Makes an event that no order has caused."""
    return Event(next(EVENT_IDS), order, user, status, datetime.fromisoformat(WHEN))


@pytest.fixture(scope="module")
async def doors(shop: Shop, keys: Any) -> AsyncIterator[dict[str, tuple[Any, Streams]]]:
    """The doors where updates are followed, by name, and each door's open streams."""
    held = {name: Streams() for name in ("graphql-gateway", "rest-gateway")}
    async with AsyncExitStack() as stack:
        clients = await stack.enter_async_context(shop.inside("graphql"))
        at = shop.at | await stack.enter_async_context(served_gateways(clients, keys.public_file, held))
        made: dict[str, tuple[Any, Streams]] = {
            "graphql-events": (GraphqlDoor(at["graphql-gateway"]), held["graphql-gateway"]),
            "graphql-socket": (GraphqlDoor(at["graphql-gateway"], over_socket=True), held["graphql-gateway"]),
            "grpc": (GrpcDoor(at["grpc"]), shop.streams),
            "rest": (RestDoor(at["rest"]), shop.streams),
            "rest-gateway": (RestDoor(at["rest-gateway"]), held["rest-gateway"]),
        }
        for door, _ in made.values():
            await stack.enter_async_context(door.transport)
        yield made
        for streams in held.values():
            streams.close()


@pytest.fixture(params=DOORS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def door(name: str, doors: dict[str, Any]) -> Any:
    return doors[name][0]


@pytest.fixture
def others(name: str, doors: dict[str, Any]) -> Any:
    """The door of other customers, who already watch: they would otherwise reach the limits of WebSockets."""
    return doors["graphql-events" if name == "graphql-socket" else name][0]


@pytest.fixture
def by(signer: TokenSigner) -> By:
    """Returns the header with a customer's or a partner's token, or no header."""

    def header(number: int | None, kind: Any = "customer", **how: Any) -> Headers:
        return {} if number is None else {"authorization": f"Bearer {signer.sign(Principal(kind, number), **how)}"}

    return header


async def end_of(following: Next) -> Refused:
    """Reads a stream to its end, and returns why it ends."""
    try:
        while True:
            await following()
    except Refused as refused:
        return refused


async def ending(door: Any, headers: Headers, **watched: Any) -> Refused:
    try:
        async with door.watch(headers, **watched) as following:
            return await end_of(following)
    except Refused as refused:
        return refused


async def opening(door: Any, headers: Headers, **watched: Any) -> None:
    async with door.watch(headers, **watched) as following:
        await following()


async def code_of(asked: Awaitable[object]) -> str:
    """Returns the code with which a request is refused; empty if it is answered."""
    try:
        await asked
    except Refused as refused:
        return refused.code
    return ""


class TestAnOrderIsFollowed:
    async def test_from_checkout_to_delivery(self, shop: Shop, door: Any, by: By, user: int) -> None:
        async with door.watch(by(user), user=user) as following:
            assert await following() == Update(0)
            before = datetime.now(UTC)
            order = await shop.buy(user)
            for status in (SHIPPED, OrderStatus.DELIVERED):
                await shop.clients.order.update_order_status(order.id, status)
            seen = [await following() for _ in range(4)]
        assert [(one.position, one.order, one.status) for one in seen] == [
            (position, order.id, status)
            for position, status in enumerate(("PENDING", "CONFIRMED", "SHIPPED", "DELIVERED"), start=1)
        ]
        times = [datetime.fromisoformat(one.created_at) for one in seen]
        assert times == sorted(times)
        assert before - timedelta(seconds=1) < times[0] < times[-1] < datetime.now(UTC) + timedelta(seconds=1)
        assert any(time.microsecond for time in times)
        assert await door.read_list(by(user), user) == seen[::-1]

    async def test_to_its_cancellation(self, shop: Shop, user: int) -> None:
        order = await shop.buy(user)
        await shop.clients.order.cancel_order(order.id)
        assert [one.status for one in await shop.notifications(user, 3)] == [PENDING, CONFIRMED, OrderStatus.CANCELLED]

    async def test_alone_if_only_one_order_is_watched(self, shop: Shop, door: Any, by: By, user: int) -> None:
        watched = await shop.buy(user)
        await shop.notifications(user, 2)
        async with door.watch(by(user), order=watched.id) as following:
            assert await following() == Update(2)
            await shop.buy(user, "another")
            await shop.notifications(user, 4)
            await shop.clients.order.cancel_order(watched.id)
            update = await following()
        # The other order's two updates are counted, but not sent.
        assert (update.position, update.order, update.status) == (5, watched.id, "CANCELLED")

    async def test_not_where_nothing_was_bought(self, shop: Shop, user: int, other: int) -> None:
        """A refused checkout changes no order, so there is no notification."""
        lines = (CheckoutLine(8_001, 1),)
        with pytest.raises(Exception, match="declined"):
            await shop.clients.order.checkout(
                user_id=user, lines=lines, payment_token="tok_declined", idempotency_key="key"
            )
        await shop.buy(other)
        await shop.notifications(other, 2)
        assert await shop.clients.notification.list_notifications(user) == []

    async def test_by_nobody_else(self, shop: Shop, door: Any, by: By, user: int, other: int) -> None:
        async with door.watch(by(other), user=other) as following:
            await following()
            await shop.clients.notification.notify([event(user), event(other, SHIPPED, 7)])
            assert await following() == Update(1, 7, "SHIPPED", WHEN)


class TestAStream:
    async def test_continues_after_a_position(self, shop: Shop, door: Any, by: By, user: int) -> None:
        await shop.clients.notification.notify([event(user) for _ in range(3)])
        async with door.watch(by(user), user=user, after=1) as following:
            assert [(await following()).position for _ in range(3)] == [1, 2, 3]

    @pytest.mark.parametrize("has_news", [False, True])
    async def test_ends_with_its_account(self, shop: Shop, door: Any, by: By, user: int, has_news: bool) -> None:
        if has_news:
            await shop.clients.notification.notify([event(user)])
        async with door.watch(by(user), user=user) as following:
            await following()
            await shop.clients.user.delete_user(user)
            ended = await end_of(following)
        assert ended.code == ("NOT_FOUND" if door.says_why else "")
        assert (await ending(door, by(user), user=user)).message == f"there is no user {user}"

    async def test_ends_with_the_account_of_its_order(self, shop: Shop, door: Any, by: By, user: int) -> None:
        order = await shop.buy(user)
        async with door.watch(by(user), order=order.id) as following:
            await following()
            await shop.clients.user.delete_user(user)
            ended = await end_of(following)
        assert ended.code == ("NOT_FOUND" if door.says_why else "")
        assert await code_of(opening(door, by(user), order=order.id)) == "NOT_FOUND"

    async def test_continues_while_the_listening_connection_is_lost(self, shop: Shop, user: int) -> None:
        """The listening connection is cut; later updates are found once there is a new connection."""
        async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
            shop.rows(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN "shop_notification"'"""
            )
            await shop.clients.notification.notify([event(user)])
            assert (await following()).position == 1

    async def test_ends_if_unread_updates_are_dropped(self, store: PostgresNotifications, user: int) -> None:
        updates = Watchers(store).watch(user, None)
        assert (await anext(updates)).position == 0
        for count in (KEPT, 1):
            await store.add([event(user) for _ in range(count)])
        with pytest.raises(PositionGone, match="after_position is 0; only notifications after 1 are kept"):
            await anext(updates)

    async def test_says_that_it_is_still_open(self, store: PostgresNotifications, user: int) -> None:
        waiting = Watchers(store, silence_s=0.01).watch(user, None)
        assert [(await anext(waiting)).notification for _ in range(4)] == [None] * 4
        await waiting.aclose()

    async def test_outlasts_the_limit_of_requests(self, shop: Shop, door: Any, by: By, user: int) -> None:
        async with door.watch({**by(user), DEADLINE_HEADER: "200"}, user=user) as following:
            await following()
            await asyncio.sleep(0.4)
            await shop.clients.notification.notify([event(user)])
            assert (await following()).position == 1

    async def test_ends_with_its_process(self, doors: dict[str, Any], door: Any, name: str, by: By, user: int) -> None:
        async with door.watch(by(user), user=user) as following:
            await following()
            with closed(doors[name][1]):
                assert await code_of(following()) == ("UNAVAILABLE" if door.says_why else "")
                late = await ending(door, by(user), user=user)
        assert (late.code, late.retry_s) == ("UNAVAILABLE", 1)

    async def test_ends_with_its_token(self, doors: dict[str, Any], by: By, user: int) -> None:
        """Tests all doors together, as each waits until the token expires."""
        headers, opened = by(user, ttl_s=2), {name: doors[name][0] for name in DOORS}
        ends = await asyncio.gather(*(ending(door, headers, user=user) for door in opened.values()))
        for (name, door), end in zip(opened.items(), ends, strict=True):
            assert end.code == ("UNAUTHENTICATED" if door.says_why else ""), name
            assert "the token has expired" in end.message or not door.says_why, name
            assert await code_of(opening(door, headers, user=user)) == "UNAUTHENTICATED", name

    async def test_counts_for_its_watcher(
        self, door: Any, others: Any, by: By, user: int, other: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When a partner has opened its maximum of a customer's streams, only the customer can open more."""
        monkeypatch.setattr(limits, "MAX_PER_PARTNER", 1)
        monkeypatch.setattr(limits, "MAX_PER_CUSTOMER", 1)
        partner = by(other, "partner")
        async with others.watch(partner, user=user) as watching:
            await watching()
            assert await code_of(opening(door, partner, user=user)) == "TOO_MANY_REQUESTS"
            async with door.watch(by(user), user=user) as own:
                await own()
                assert await code_of(opening(door, by(user), user=user)) == "TOO_MANY_REQUESTS"

    async def test_counts_for_its_process(
        self, door: Any, others: Any, by: By, user: int, other: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with others.watch(by(user), user=user) as first, others.watch(by(other), user=other) as second:
            await first()
            await second()
            monkeypatch.setattr(limits, "MAX_PER_PROCESS", 2)
            assert await code_of(opening(door, by(1), user=1)) == "UNAVAILABLE"

    async def test_is_opened_only_so_often(
        self, shop: Shop, door: Any, name: str, by: By, user: int, other: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "MAX_PER_CUSTOMER", 1)
        for _ in range(limits.BURSTS):
            await opening(door, by(user), user=user)
            async with asyncio.timeout(LIMIT_S):
                while shop.watchers.count:  # noqa: ASYNC110 - nothing signals it
                    await asyncio.sleep(0.01)
        refused = await ending(door, by(user), user=user)
        assert refused.code == "TOO_MANY_REQUESTS"
        # The code that closes a WebSocket cannot convey when to retry.
        assert name == "graphql-socket" or 1 <= refused.retry_s <= limits.REOPEN_S
        await opening(door, by(other), user=other)

    async def test_ends_if_its_client_does_not_read(
        self, shop: Shop, doors: dict[str, Any], by: By, user: int, other: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unread updates wait in the database; the stream ends, and other clients get theirs."""
        monkeypatch.setattr("shop.platform.grpc.handlers.READ_LIMIT_S", 0.2)
        # Otherwise the idle stream could end earlier, because updates that it has not read are dropped.
        monkeypatch.setattr(
            postgres, "ADD", Statement(postgres.ADD.name, postgres.ADD.sql.replace(f"- {KEPT}", "- 100000"))
        )
        door, position = doors["grpc"][0], 0
        async with door.watch(by(user), user=user) as idle, door.watch(by(other), user=other) as following:
            await idle()
            await following()
            async with asyncio.timeout(LIMIT_S):
                while shop.watchers.count > 1:
                    await shop.clients.notification.notify([event(user) for _ in range(KEPT)])
                    await shop.clients.notification.notify([event(other)])
                    position += 1
                    assert (await following()).position == position
            ended = await end_of(idle)
        assert (ended.code, "does not read" in ended.message) == ("RESOURCE_EXHAUSTED", True)


@contextmanager
def closed(streams: Streams) -> Iterator[None]:
    """Ends all streams, and every later stream at once, until the context ends."""
    streams.close()
    yield
    Streams.__init__(streams)


@pytest.mark.parametrize(
    ("who", "watched", "code"),
    [
        pytest.param("other", {"user": 1}, "PERMISSION_DENIED", id="another's"),
        pytest.param("other", {"order": 1}, "NOT_FOUND", id="another's order"),
        pytest.param("nobody", {"user": 1}, "UNAUTHENTICATED", id="nobody"),
        pytest.param("nobody", {"order": 1}, "UNAUTHENTICATED", id="nobody, an order"),
        pytest.param("partner", {"user": 1}, "", id="a partner"),
        pytest.param("partner", {"order": 1}, "", id="a partner, an order"),
    ],
)
async def test_a_stream_is_opened_only_for_admitted_callers(
    door: Any, by: By, who: str, watched: Any, code: str
) -> None:
    headers = {"other": by(2), "partner": by(1, "partner"), "nobody": by(None)}[who]
    assert await code_of(opening(door, headers, **watched)) == code


@pytest.mark.parametrize("watched", [{"after": -1}, {"after": 1}, {"order": NOWHERE}, {"user": NOWHERE}], ids=str)
async def test_missing_things_cannot_be_watched(door: Any, by: By, user: int, watched: dict[str, int]) -> None:
    refused = await ending(door, by(1, "partner"), **{"user": user, **watched})
    assert refused.code == ("INVALID_ARGUMENT" if "after" in watched else "NOT_FOUND")


async def test_a_position_is_too_old(shop: Shop, door: Any, by: By, user: int) -> None:
    await shop.clients.notification.notify([event(user, order=number) for number in range(1, AT_ONCE + 1)])
    await shop.clients.notification.notify([event(user)])
    gone = await ending(door, by(user), user=user, after=0)
    assert gone.code == "POSITION_GONE"
    assert "after_position is 0; only notifications after 1 are kept: list" in gone.message
    assert [one.position for one in await door.read_list(by(user), user)] == list(range(KEPT + 1, 1, -1))
    async with door.watch(by(user), user=user, after=1) as following:
        assert [(await following()).position for _ in range(KEPT)] == list(range(1, KEPT + 1))


async def test_notifications_are_marked_up_to_a_position(shop: Shop, door: Any, by: By, user: int) -> None:
    await shop.clients.notification.notify([event(user, order=number) for number in range(1, 6)])
    assert await door.mark(by(user), user, 3) == 2
    assert await door.mark(by(1, "partner"), user, 2) == 2, "what is read stays so"
    listed = [Update(number, number, "PENDING", WHEN, number <= 3) for number in range(5, 0, -1)]
    for headers in (by(user), by(1, "partner")):
        assert await door.read_list(headers, user) == listed


@pytest.mark.parametrize(("who", "code"), [(2, "PERMISSION_DENIED"), (None, "UNAUTHENTICATED")])
async def test_customers_read_and_mark_only_their_own(door: Any, by: By, who: int | None, code: str) -> None:
    for asked in (door.read_list(by(who), 1), door.mark(by(who), 1, 1)):
        assert await code_of(asked) == code


class TestOverRest:
    @pytest.fixture(params=["rest", "rest-gateway"])
    def name(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.mark.parametrize("position", ["x", "9" * 19])
    async def test_an_invalid_position_is_refused(self, door: Any, by: By, position: str) -> None:
        assert await code_of(opening(door, by(1), user=1, after=position)) == "INVALID_ARGUMENT"

    async def test_a_client_that_polls_asks_whether_there_is_news(
        self, shop: Shop, door: Any, by: By, user: int
    ) -> None:
        path = f"/v1/users/{user}/notifications"
        first = await door.ask("GET", path, by(user))
        assert first.headers["retry-after"] == "5"
        asked = {**by(user), "if-none-match": first.headers["etag"]}
        assert (await door.ask("GET", path, asked)).status_code == 304
        await shop.clients.notification.notify([event(user)])
        assert [one.position for one in await door.read_list(asked, user)] == [1]

    async def test_there_are_none_without_updates(self, keys: Any) -> None:
        async with served_gateways(MemoryShop().clients, keys.public_file) as at, httpx.AsyncClient() as http:
            assert (await http.get(f"http://{at['rest-gateway']}/v1/users/1/notifications")).status_code == 404


class TestAnEvent:
    async def test_is_stored_once_despite_repeated_delivery(self, shop: Shop, user: int, other: int) -> None:
        first, second, third = event(user), event(user, CONFIRMED), event(other)
        await shop.clients.notification.notify([first, third])
        await shop.clients.notification.notify([first, second])
        await asyncio.gather(*(shop.clients.notification.notify([second, third]) for _ in range(8)))
        assert [one.status for one in await shop.notifications(user, 2)] == [PENDING, CONFIRMED]
        assert len(await shop.notifications(other, 1)) == 1

    @pytest.mark.parametrize("protocol", ["graphql", "rest"])
    async def test_comes_over_each_protocol_of_services(self, shop: Shop, user: int, protocol: str) -> None:
        async with shop.inside(protocol) as clients:
            await clients.notification.notify([event(user, SHIPPED, 7)])
        (told,) = await shop.notifications(user, 1)
        assert (told.position, told.order_id, told.status, told.created_at) == (
            1,
            7,
            SHIPPED,
            datetime.fromisoformat(WHEN),
        )

    async def test_of_an_account_that_is_gone_is_dropped(self, shop: Shop, user: int) -> None:
        await shop.clients.notification.notify([event(user)])
        await shop.clients.user.delete_user(user)
        await shop.clients.notification.notify([event(user, CONFIRMED)])
        assert await shop.clients.notification.list_notifications(user) == []
        assert shop.rows("SELECT last_position FROM shop_notification.mailbox WHERE user_id = %s", user) == [(1,)]

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ([], "events"),
            ([event(0)], "events[0].user_id"),
            ([event(1, OrderStatus.FAILED)], "events[0].status"),
            ([event(1), event(1, order=0)], "events[1].order_id"),
            ([event(1)] * 2, "events[1].id"),
        ],
        ids=["none", "nobody's", "no status", "no order", "twice"],
    )
    async def test_is_refused(self, shop: Shop, wrong: list[Event], field: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            await shop.clients.notification.notify(wrong)
        assert refused.value.field == field

    @pytest.mark.parametrize(
        ("headers", "changed", "status"),
        [
            ({EDGE_MARK: "1"}, {}, 403),
            ({}, {}, 200),
            ({}, {"status": "FAILED"}, 400),
            ({}, {"happened_at": "yesterday"}, 400),
        ],
        ids=["from outside", "from inside", "no status", "no time"],
    )
    async def test_comes_over_rest_from_services_alone(
        self, doors: dict[str, Any], user: int, headers: Headers, changed: dict[str, str], status: int
    ) -> None:
        sent = {"id": next(EVENT_IDS), "order_id": 1, "user_id": user, "status": "PENDING", "happened_at": WHEN}
        body = {"events": [{**sent, "traceparent": "", **changed}]}
        answer = await doors["rest"][0].transport.post("/v1/order-events", json=body, headers=headers)
        assert answer.status_code == status

    @pytest.mark.parametrize("kind", ["customer", "partner"])
    async def test_comes_over_grpc_from_services_alone(self, doors: dict[str, Any], by: By, kind: str) -> None:
        assert await code_of(doors["grpc"][0].ask("Notify", pb.NotifyRequest(), by(1, kind))) == "PERMISSION_DENIED"
