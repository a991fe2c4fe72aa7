"""The doors at which customers follow their orders: each converts what it receives into the same form."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import grpc
import httpx
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_status import rpc_status
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from shop.errors import ErrorCode
from shop.platform.config import EDGE_MARK
from shop.platform.error_codes import ERROR_TABLE
from shop.stubs import notification_pb2 as pb
from shop.stubs import notification_pb2_grpc, order_pb2

LIMIT_S = 10.0
Headers = Mapping[str, str]
Messages = Callable[[], Awaitable[dict[str, Any]]]
OUTSIDE = {EDGE_MARK: "1"}
CLOSED = {4401: "UNAUTHENTICATED", 1013: "TOO_MANY_REQUESTS"}
"""The error codes that correspond to the codes with which WebSockets are closed."""
NEWS = "position order { id } status createdAt read"


class Update(NamedTuple):
    """One update, or one entry of the list; order 0 if a stream only says that it is open."""

    position: int
    order: int = 0
    status: str = ""
    created_at: str = ""
    is_read: bool = False


class Refused(Exception):  # noqa: N818 - an event, not a fault of the tests
    """A request is refused, or a stream ends; `code` is empty if a stream ends without a code."""

    def __init__(self, code: str, message: str = "", retry_s: int = 0) -> None:
        super().__init__(code, message)
        self.code, self.message, self.retry_s = code, message, retry_s


class RestDoor:
    """A gateway or a service over REST. Its streams end without a reason, which a client learns when it reconnects."""

    says_why = False

    def __init__(self, address: str) -> None:
        self.transport = httpx.AsyncClient(base_url=f"http://{address}", timeout=LIMIT_S, trust_env=False)

    async def ask(self, method: str, path: str, headers: Headers, **content: Any) -> httpx.Response:
        return _good(await self.transport.request(method, path, headers={**OUTSIDE, **headers}, **content))

    @asynccontextmanager
    async def watch(self, headers: Headers, *, user: int = 0, order: int = 0, after: Any = None) -> AsyncIterator[Any]:
        path = f"/v1/orders/{order}/events" if order else f"/v1/users/{user}/notifications/events"
        behind = {} if after is None else {"last-event-id": str(after)}
        async with self.transport.stream("GET", path, headers={**OUTSIDE, **headers, **behind}) as response:
            if not response.is_success:
                await response.aread()
            kind, lines = _good(response).headers["content-type"], response.aiter_lines()
            assert (kind, response.headers["cache-control"]) == ("text/event-stream; charset=utf-8", "no-store")

            async def following() -> Update:
                fields = await event_of(lines)
                if not fields:
                    raise Refused("")
                position = int(fields.pop("id"))
                if "data" not in fields:
                    assert fields == {"": "open", "retry": "1000"}
                    return Update(position)
                news = json.loads(fields["data"])
                assert (fields["event"], news["position"], news["traceparent"]) == ("order", position, "")
                return _from_json(news)

            yield following

    async def read_list(self, headers: Headers, user: int) -> list[Update]:
        listed = (await self.ask("GET", f"/v1/users/{user}/notifications", headers)).json()["notifications"]
        return [_from_json(one) for one in listed]

    async def mark(self, headers: Headers, user: int, up_to: int) -> int:
        path, read = f"/v1/users/{user}/notifications:markRead", {"up_to_position": up_to}
        return int((await self.ask("POST", path, headers, json=read)).json()["unread"])


def _good(response: httpx.Response) -> httpx.Response:
    if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
        return response
    problem = response.json()
    assert response.status_code == ERROR_TABLE[ErrorCode(problem["code"])].http
    raise Refused(problem["code"], problem["detail"], int(response.headers.get("retry-after", 0)))


def _from_json(news: Any) -> Update:
    return Update(news["position"], news["order_id"], news["status"], news["created_at"], news["read"])


class GraphqlDoor:
    """The GraphQL gateway: subscriptions over a WebSocket, or as server-sent events."""

    says_why = True

    def __init__(self, address: str, *, over_socket: bool = False) -> None:
        self.address = address
        self.transport = httpx.AsyncClient(base_url=f"http://{address}", timeout=LIMIT_S, trust_env=False)
        self.follow = self.subscribed if over_socket else self.streamed

    def socket(self, *protocols: str, **options: Any) -> Any:
        where = f"ws://{self.address}/graphql/stream"
        return connect(where, subprotocols=protocols or ["graphql-transport-ws"], **options)

    @asynccontextmanager
    async def subscribed(self, query: str, headers: Headers, **variables: Any) -> AsyncIterator[Messages]:
        """A subscription over a WebSocket; yields a function that waits for the next message."""
        sent = dict(headers)
        token = {name: sent.pop(name) for name in ("authorization",) if name in sent}
        try:
            async with self.socket(additional_headers=sent) as opened:
                await send(opened, type="connection_init", payload=token)
                assert await receive(opened) == {"type": "connection_ack"}
                await send(opened, id="1", type="subscribe", payload={"query": query, "variables": variables})
                yield lambda: receive(opened)
        except ConnectionClosed as closed:
            raise Refused(CLOSED[closed.rcvd.code], closed.rcvd.reason) from closed  # type: ignore[union-attr]

    @asynccontextmanager
    async def streamed(self, query: str, headers: Headers, **variables: Any) -> AsyncIterator[Messages]:
        """A subscription as server-sent events, which become messages in the form of the WebSocket's."""
        body, sent = {"query": query, "variables": variables}, {**headers, "accept": "text/event-stream"}
        async with self.transport.stream("POST", "/graphql/stream", json=body, headers=sent) as response:
            assert response.headers["content-type"] == "text/event-stream", await response.aread()
            lines = response.aiter_lines()

            async def event() -> dict[str, Any]:
                fields = await event_of(lines)
                message = {"id": "1", "type": fields["event"]}
                return {**message, "payload": json.loads(fields["data"])} if fields["data"] else message

            yield event

    @asynccontextmanager
    async def watch(self, headers: Headers, *, user: int = 0, order: int = 0, after: Any = None) -> AsyncIterator[Any]:
        field, argument, kind = ("orderNotifications", "orderId", "Order") if order else _OF_USER
        asked = f"{field}({argument}: $id, after: $after) {{ position notification {{ {NEWS} }} }}"
        query, whose = f"subscription ($id: ID!, $after: Int) {{ {asked} }}", global_id(kind, order or user)
        async with self.follow(query, {**OUTSIDE, **headers}, id=whose, after=after) as message:

            async def following() -> Update:
                payload = (await message())["payload"]
                if "errors" in payload:
                    assert await message() == {"id": "1", "type": "complete"}
                    raise _refusal(payload)
                position, news = payload["data"][field].values()
                assert news is None or news["position"] == position
                return Update(position) if news is None else _from_graphql(news)

            yield following

    async def read_list(self, headers: Headers, user: int) -> list[Update]:
        listed = await self._data(f'{{ notifications(userId: "{global_id("User", user)}") {{ {NEWS} }} }}', headers)
        return [_from_graphql(one) for one in listed["notifications"]]

    async def mark(self, headers: Headers, user: int, up_to: int) -> int:
        read = f'userId: "{global_id("User", user)}", upToPosition: {up_to}'
        marked = await self._data(f"mutation {{ markNotificationsRead(input: {{ {read} }}) {{ unread }} }}", headers)
        return int(marked["markNotificationsRead"]["unread"])

    async def _data(self, query: str, headers: Headers) -> Any:
        sent = {**OUTSIDE, **headers}
        answer = (await self.transport.post("/graphql", json={"query": query}, headers=sent)).json()
        if "errors" in answer:
            raise _refusal(answer)
        return answer["data"]


_OF_USER = ("notifications", "userId", "User")


def _refusal(answer: Any) -> Refused:
    (error,) = answer["errors"]
    return Refused(error["extensions"]["code"], error["message"], error["extensions"].get("retryAfter", 0))


def _from_graphql(news: Any) -> Update:
    order = base64.b64decode(news["order"]["id"]).decode().removeprefix("Order:")
    return Update(news["position"], int(order), news["status"], news["createdAt"], news["read"])


class GrpcDoor:
    """The notification service over gRPC, to a client whose window is as small as gRPC allows."""

    says_why = True

    def __init__(self, address: str) -> None:
        small = [("grpc.http2.lookahead_bytes", 1_024), ("grpc.http2.bdp_probe", 0), ("grpc.enable_http_proxy", 0)]
        self.transport = grpc.aio.insecure_channel(address, options=small)
        self.stub: Any = notification_pb2_grpc.NotificationServiceStub(self.transport)

    async def ask(self, method: str, request: Any, headers: Headers) -> Any:
        return await _answer(getattr(self.stub, method)(request, metadata=_metadata(headers)))

    @asynccontextmanager
    async def watch(self, headers: Headers, *, user: int = 0, order: int = 0, after: Any = None) -> AsyncIterator[Any]:
        if order:
            call = self.stub.WatchOrder(
                pb.WatchOrderRequest(order_id=order, after_position=after), metadata=_metadata(headers)
            )
        else:
            watched = pb.WatchNotificationsRequest(user_id=user, after_position=after)
            call = self.stub.WatchNotifications(watched, metadata=_metadata(headers))

        async def following() -> Update:
            update = await _answer(call.read())
            return _from_message(update.notification) if update.HasField("notification") else Update(update.position)

        try:
            yield following
        finally:
            call.cancel()

    async def read_list(self, headers: Headers, user: int) -> list[Update]:
        listed = await self.ask("ListNotifications", pb.ListNotificationsRequest(user_id=user), headers)
        return [_from_message(one) for one in listed.notifications]

    async def mark(self, headers: Headers, user: int, up_to: int) -> int:
        return int((await self.ask("MarkRead", pb.MarkReadRequest(user_id=user, up_to_position=up_to), headers)).unread)


async def _answer(call: Any) -> Any:
    try:
        async with asyncio.timeout(LIMIT_S):
            return await call
    except grpc.aio.AioRpcError as error:
        info, retry = ErrorInfo(), RetryInfo()
        for detail in rpc_status.from_call(error).details:  # type: ignore[arg-type, union-attr]
            _ = detail.Unpack(info) or detail.Unpack(retry)
        if error.code().name == ERROR_TABLE[ErrorCode(info.reason)].grpc:
            raise Refused(info.reason, error.details() or "", retry.retry_delay.seconds) from error
        raise


def _metadata(headers: Headers) -> Any:
    return tuple({**OUTSIDE, **headers}.items())


def _from_message(news: Any) -> Update:
    status = order_pb2.OrderStatus.Name(news.status).removeprefix("ORDER_STATUS_")
    created_at = f"{news.create_time.ToDatetime().isoformat(timespec='microseconds')}Z"
    return Update(news.position, news.order_id, status, created_at, news.read)


async def event_of(lines: AsyncIterator[str]) -> dict[str, str]:
    """Reads the fields of the next server-sent event; empty at the end of the stream."""
    fields = {}
    async with asyncio.timeout(LIMIT_S):
        async for line in lines:
            if not line:
                break
            name, _, value = line.partition(": ")
            fields[name] = value
    return fields


async def send(to: ClientConnection, **message: Any) -> None:
    await to.send(json.dumps(message))


async def receive(over: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(LIMIT_S):
        read: dict[str, Any] = json.loads(await over.recv())
    return read


def global_id(kind: str, number: int) -> str:
    return base64.b64encode(f"{kind}:{number}".encode()).decode()
