"""Calls of every method of the contract over gRPC: messages with random fields, and invalid frames."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.json_format import MessageToJson, SerializeToJsonError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.inputs import PERSONAL, Input, draw_from, mutate
from fuzz.wire import Header, h1_request, h2_request
from shop.stubs import notification_pb2, order_pb2, payment_pb2, product_pb2, user_pb2

METHODS: Sequence[MethodDescriptor] = [
    method
    for module in (notification_pb2, order_pb2, payment_pb2, product_pb2, user_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
TEXTS = ["", "a", "EUR", "DE", "c0001", "tok_ok", "İ@İ", "\x00", "😀" * 20, "x" * 5_000]
TEXTS += ["title", "name", "price", "lines.*.id"]
DEEPEST, MAX_ENTRIES = 3, 3
MEDIA_TYPES = ["application/grpc", "application/grpc+proto", "application/grpc+zzz", "application/grpc-web"]
MEDIA_TYPES += ["application/json", "", "\xff"]
TIMEOUTS = ["300m", "1n", "99999999H", "-1S", "zzz", ""]
UNKNOWN = (b"\xfa\xff\xff\xff\x0f\x02zz", b"\x98\x75\x01", b"\x0b", b"\x83\x01")
"""Fields that no message has; the last two are unterminated groups."""
ENCODINGS = ["identity", "gzip", "br", ""]

_SCALARS: dict[int, SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.CPPTYPE_ENUM: st.sampled_from([0, 1, 2, 99, -1, 2**31 - 1]),
    FieldDescriptor.CPPTYPE_INT32: st.sampled_from([0, 1, 2, 5, 1_000]) | st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.sampled_from([0, 1, 2, 9_000]) | st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.sampled_from([0, 1, 9_000]) | st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.sampled_from([0, 1, 9_000]) | st.integers(0, 2**64 - 1),
}


def messages(kind: Descriptor, depth: int = 0) -> SearchStrategy[dict[str, Any]]:
    """Generates the fields of a message, each of which may be missing."""
    fields = {one.name: _values(one, depth) for one in kind.fields if depth < DEEPEST or one.message_type is None}
    return st.fixed_dictionaries({}, optional=fields)


def _values(one: FieldDescriptor, depth: int) -> SearchStrategy[Any]:
    if one.message_type is not None:
        value: SearchStrategy[Any] = messages(one.message_type, depth + 1)
    elif one.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        personal = [PERSONAL[one.camelcase_name]] if one.camelcase_name in PERSONAL else []
        is_bytes = one.type == FieldDescriptor.TYPE_BYTES
        value = st.binary(max_size=40) if is_bytes else st.sampled_from([*TEXTS, *personal * 5]) | st.text(max_size=40)
    else:
        value = _SCALARS[one.cpp_type]
    return st.lists(value, max_size=MAX_ENTRIES) if one.is_repeated else value


@st.composite
def _calls(draw: Callable[..., Any]) -> tuple[MethodDescriptor, bytes]:
    method = draw(st.sampled_from(METHODS))
    return method, GetMessageClass(method.input_type)(**draw(messages(method.input_type))).SerializeToString()


def grpc_inputs(way: str, tokens: Sequence[str], seed: str) -> Iterator[Input]:
    """Yields calls endlessly, each as the bytes of an HTTP/2 connection; tokens are values of `authorization`."""
    chance = random.Random(seed)
    earlier: list[bytes] = [b"\x08\x01"]
    for method, message in draw_from(_calls(), seed):
        earlier = [*earlier[-50:], message]
        for content in (
            message,
            message + chance.choice(UNKNOWN),
            *(mutate(chance, [message, *earlier]) for _ in "ab"),
        ):
            yield Input(way, h2_request(_headers(method, tokens, chance), _frame(content, chance)))


def browser_inputs(surface: str, way: str, tokens: Sequence[str], seed: str) -> Iterator[Input]:
    """Yields calls of a surface, `grpc-web` or `connect`, endlessly; each is the bytes of an HTTP/1.1 connection."""
    chance = random.Random(seed)
    for method, message in draw_from(_calls(), seed):
        if method.containing_service.name == "NotificationService":  # neither protocol offers this service
            continue
        asked = GetMessageClass(method.input_type).FromString(message)
        for content in (message, message + chance.choice(UNKNOWN), mutate(chance, [message])):
            if surface == "grpc-web":
                kind, body = "application/grpc-web+proto", _frame(content, chance)
                if chance.random() < 0.2:
                    kind, body = "application/grpc-web-text", base64.b64encode(body)
            elif method.server_streaming:
                kind, body = "application/connect+proto", _frame(content, chance)
            else:
                kind, body = "application/proto", content
                if chance.random() < 0.4:
                    text = _as_json(asked)
                    kind, body = "application/json", mutate(chance, [text]) if chance.random() < 0.5 else text
            yield Input(way, _browser_request(method, kind, body, tokens, chance))


def _as_json(message: Message) -> bytes:
    try:
        return MessageToJson(message, indent=None).encode()
    except SerializeToJsonError:  # a mask has paths that JSON cannot have
        return b'{"readMask": "a,B.*"}'


def _browser_request(
    method: MethodDescriptor, kind: str, body: bytes, tokens: Sequence[str], chance: random.Random
) -> bytes:
    path = f"/{method.containing_service.full_name}/{method.name}"
    if chance.random() < 0.05:
        kind = chance.choice(MEDIA_TYPES)

    def rarely(*values: str) -> str:
        return "" if chance.random() < 0.95 else chance.choice(values)

    limit = "50" if method.server_streaming else ""
    headers = [
        ("authorization", chance.choice(tokens)),
        ("content-type", kind),
        ("grpc-timeout", limit and f"{limit}m"),
        ("connect-timeout-ms", limit or rarely("0", "-1", "x", "9" * 11)),
        ("content-encoding", rarely("gzip", "br")),
        ("connect-protocol-version", rarely("1", "2")),
    ]
    present = [(name, value) for name, value in headers if value]
    reads = method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    if kind in ("application/proto", "application/json") and chance.random() < (0.5 if reads else 0.03):
        encoding = kind.removeprefix("application/")
        query = f"connect=v1&encoding={encoding}&base64=1&message={base64.urlsafe_b64encode(body).decode()}"
        wrong = (query[:-3], f"encoding={encoding}&message=%ff\xff", "message=&encoding=zzz", "")
        query = query if chance.random() < 0.7 else chance.choice(wrong)
        return h1_request("GET", f"{path}?{query}", present)
    return h1_request("POST" if chance.random() < 0.97 else "PUT", path, present, body)


def _headers(method: MethodDescriptor, tokens: Sequence[str], chance: random.Random) -> list[Header]:
    path = f"/{method.containing_service.full_name}/{method.name}"
    if chance.random() < 0.03:
        path += chance.choice(("x", "/", "?a=b", "\xff"))

    def mostly(values: Sequence[str]) -> str:
        return values[0] if chance.random() < 0.85 else chance.choice(values)

    named = {
        ":method": mostly(("POST", "GET", "PUT")),
        ":scheme": "http",
        ":path": path,
        ":authority": "shop",
        "content-type": mostly(MEDIA_TYPES),
        "te": mostly(("trailers", "", "gzip")),
        # Only this timeout ends server streams.
        "grpc-timeout": "50m" if method.server_streaming else mostly(TIMEOUTS),
        "grpc-encoding": mostly(ENCODINGS),
        "authorization": chance.choice(tokens),
    }
    return [(name.encode(), value.encode("latin-1")) for name, value in named.items() if value]


def _frame(message: bytes, chance: random.Random) -> bytes:
    """Frames a message as gRPC does, with a flag, the length and the bytes; sometimes with a mistake."""
    frame = b"\0" + len(message).to_bytes(4) + message
    if chance.random() < 0.75:
        return frame
    wrong = chance.choice((0, len(message) + 1, 2**31, 2**32 - 1)).to_bytes(4)
    return chance.choice(
        (b"", frame[:3], frame[:-1], frame * 2, b"\1" + frame[1:], b"\xff" + frame[1:], b"\0" + wrong + message)
    )
