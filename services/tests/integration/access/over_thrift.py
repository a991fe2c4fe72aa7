"""Attempts over Thrift: the gRPC attempts with structs as requests; Apache's own client sends the framed requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport

from mesh.description.places import Place
from shop.platform.thrift.encoding import CALL, JSON, encode_message, open_message
from shop.platform.thrift.over_http import MEDIA_TYPE, path_of
from shop.stubs.thrift import OrderService, PaymentService, ProductService, UserService, ttypes

from .contract import CONDITIONS, Attempt
from .over_grpc import METHODS, Send, attempts

SERVICES = {"product": ProductService, "order": OrderService, "user": UserService, "payment": PaymentService}
NOT_CARRIED = {"StreamDocument"}


def framed_attempts(entrance: Callable[[str], Place]) -> Iterator[Attempt]:
    """Yields an attempt for each argument of each method, sent to the address where a service takes clients' calls."""

    def call(service: str, method: str, request: Any, token: str) -> str:
        place = entrance(service)
        transport = TFramedTransport(TSocket(place.host, place.port))
        with closing(transport):
            transport.open()
            client = SERVICES[service].Client(TCompactProtocol(transport))
            try:
                return repr(getattr(client, method)({"authorization": f"Bearer {token}"}, request))
            except TException as error:
                return repr(error)

    yield from _attempts(call)


def http_attempts(http: httpx.Client) -> Iterator[Attempt]:
    """Yields an attempt for each argument of each method, through the edge in Thrift's JSON protocol over HTTP."""

    def call(service: str, method: str, request: Any, token: str) -> str:
        stubs = SERVICES[service]
        message = encode_message(JSON, method, CALL, 1, getattr(stubs, f"{method}_args")({}, request))
        headers = {"authorization": f"Bearer {token}", "content-type": MEDIA_TYPE}
        answer = http.post(path_of(service), content=message, headers=headers)
        assert answer.status_code == 200, answer.text
        result = getattr(stubs, f"{method}_result")()
        result.read(open_message(JSON, answer.content)[-1])
        return repr(result)

    yield from _attempts(call)


def _attempts(call: Callable[[str, str, Any, str], str]) -> Iterator[Attempt]:
    for name, method in METHODS.items():
        if method.name not in NOT_CARRIED:
            yield from attempts(method, _sender(call, name.split(".")[1]), "Thrift")


def _sender(call: Callable[[str, str, Any, str], str], service: str) -> Send:
    def send(token: str, request: Any, name: str) -> str:
        return call(service, name, _struct(request), token)

    return send


def _struct(message: Any) -> Any:
    kind = getattr(ttypes, message.DESCRIPTOR.name)
    known = {spec[2] for spec in kind.thrift_spec if spec}  # without masks
    fields = [
        field
        for field in message.DESCRIPTOR.fields
        if field.name in known and not (field.name in CONDITIONS and not message.HasField(field.name))
    ]
    return kind(**{field.name: _value(field, getattr(message, field.name)) for field in fields})


def _value(field: Any, value: Any) -> Any:
    if field.message_type is None:
        return list(value) if field.is_repeated else value
    if field.message_type.name == "FieldMask":
        return list(value.paths)
    return [_struct(one) for one in value] if field.is_repeated else _struct(value)
