"""Clients of services over Connect, with a method for each call in the table of calls.

Only tests use such clients: the shop's components do not call each other over Connect.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo

from shop.clients.protocol_by_address import connect
from shop.contract.calls import SERVICES, Call, Service
from shop.contract.ports import Clients
from shop.contract.wire import protobuf_codec, requests
from shop.errors import ShopError
from shop.platform.error_codes import error_for_code

SCHEME = "connect://"
END = 0x02
"""Flag of a stream's last frame, which contains the error if there is one."""
LIMIT_S = 20


@asynccontextmanager
async def connected(peers: Mapping[str, str], component: str) -> AsyncIterator[Clients]:
    """Opens clients as `shop.clients.protocol_by_address` does, but over Connect for addresses with `SCHEME`."""
    over = {name: address.removeprefix(SCHEME) for name, address in peers.items() if address.startswith(SCHEME)}
    others = {name: address for name, address in peers.items() if name not in over}
    async with connect(others, component) as clients, httpx.AsyncClient(trust_env=False, timeout=LIMIT_S) as http:
        made = {one.name: connect_client(one, http, over[one.name]) for one in SERVICES if one.name in over}
        yield replace(clients, **made)


def connect_client(service: Service[Any], http: httpx.AsyncClient, address: str) -> Any:
    """Returns a client of a service; for calls that only read, it uses GET."""

    def make(call: Call[..., object]) -> Callable[..., object]:
        codec, url = protobuf_codec(call), f"http://{address}/{service.full_name}/{call.name}"
        request = requests(codec)

        async def unary(*args: Any, **kwargs: Any) -> Any:
            message = request(*args, **kwargs).SerializeToString()
            if call.reads:
                content = base64.urlsafe_b64encode(message).decode()
                asked = {"connect": "v1", "encoding": "proto", "base64": "1", "message": content}
                answer = await http.get(url, params=asked)
            else:
                answer = await http.post(url, content=message, headers={"content-type": "application/proto"})
            if not answer.is_success:
                raise restore(answer.json())
            return codec.value(codec.answer_class.FromString(answer.content))

        async def rows(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
            message = frame(request(*args, **kwargs).SerializeToString())
            answer = await http.post(url, content=message, headers={"content-type": "application/connect+proto"})
            for flag, content in frames(answer.content):
                if not flag & END:
                    for row in codec.rows(codec.answer_class.FromString(content)):
                        yield row
                elif error := json.loads(content).get("error"):
                    raise restore(error)

        return rows if call.streams else unary

    return service.implement(make)


def restore(error: Mapping[str, Any]) -> ShopError:
    """Returns the service's error."""
    info, retry = read_details(error)
    field, again_s = info.metadata.get("field", ""), retry.retry_delay.seconds
    return error_for_code(info.reason, error.get("message", ""), field, again_s)


def read_details(error: Mapping[str, Any]) -> tuple[ErrorInfo, RetryInfo]:
    """Returns the details of an error; a missing detail is empty."""
    info, retry = ErrorInfo(), RetryInfo()
    for detail in error.get("details", ()):
        into = info if detail["type"] == info.DESCRIPTOR.full_name else retry
        into.ParseFromString(base64.b64decode(detail["value"] + "=="))
    return info, retry


def frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the flag and the content of each frame of a body; for Connect streams and gRPC-Web."""
    while body:
        flag, size = body[0], int.from_bytes(body[1:5])
        yield flag, body[5 : 5 + size]
        body = body[5 + size :]


def frame(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4) + message
