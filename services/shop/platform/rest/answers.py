"""Answers that are encoded directly as JSON bytes, with entity tag, caching and compression.

Every answer to a GET carries a strong entity tag (`shop.platform.http.caching`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from starlette.responses import Response

from shop.platform.http.caching import (
    NO_STORE,
    SURROGATE,
    Policy,
    check_if_match,
    content_hash,
    entity_tag,
    is_not_modified,
    surrogate_key_header,
)
from shop.platform.http.compression import MIN_BYTES, accepts_gzip, gzip
from shop.platform.read_mask import Mask, select_fields

T = TypeVar("T")
R = TypeVar("R")

JSON = b"application/json"

encode = msgspec.json.Encoder().encode
"""Encodes value types and documents as JSON: 480 µs for 1,000 order lines; orjson takes 1,770 µs, json 3,600 µs."""

Headers = Sequence[tuple[bytes, bytes]]


class HasHeaders(Protocol):
    """The part of a request that its answer depends on."""

    def header(self, name: bytes) -> str | None:
        """Returns the value of a header, named in lower case."""


class Answer(Response, Generic[T]):
    """A response whose body and headers are already bytes; `T` is the encoded type, for the OpenAPI document.

    The headers are in lower case, and lack those of the content.
    """

    def __init__(self, status: int, body: bytes, headers: Headers, media_type: bytes = JSON) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = list(headers)
        if media_type:
            self.raw_headers.append((b"content-type", media_type))
        if status not in (204, 304):
            self.raw_headers.append((b"content-length", b"%d" % len(body)))


def ok(call: HasHeaders, document: T, policy: Policy, mask: Mask | None = None, keys: Sequence[str] = ()) -> Answer[T]:
    """Returns the answer to a GET: the document, with the fields of a mask, or 304 if the client already has it."""
    body = encode(document if mask is None else select_fields(document, mask))
    return representation(call, body, policy, JSON, keys)


def representation(
    call: HasHeaders, body: bytes, policy: Policy, media_type: bytes, keys: Sequence[str] = ()
) -> Answer[Any]:
    """Returns the answer to a GET whose content is already encoded; arguments as for `ok`."""
    content = content_hash(body)
    packed = len(body) >= MIN_BYTES and accepts_gzip(call.header(b"accept-encoding"))
    headers = [(b"etag", entity_tag(content, gzip=packed).encode()), *policy]
    if keys and call.header(SURROGATE.encode()):
        headers.append(surrogate_key_header(keys))
    known = call.header(b"if-none-match")
    if known is not None and is_not_modified(known, content):
        return Answer(304, b"", headers, b"")
    if packed:
        headers.append((b"content-encoding", b"gzip"))
        body = gzip(body)
    return Answer(200, body, headers, media_type)


def answer_created(document: T, location: str) -> Answer[T]:
    body = encode(document)
    return Answer(201, body, [(b"location", location.encode()), NO_STORE, _tag(body)])


def answer_changed(document: T) -> Answer[T]:
    """Returns the answer to a change: the changed document and its entity tag."""
    body = encode(document)
    return Answer(200, body, [NO_STORE, _tag(body)])


def answer_removed() -> Answer[None]:
    return Answer(204, b"", [NO_STORE], b"")


async def as_read(if_match: str | None, read: Callable[[], Awaitable[R]]) -> R | None:
    """Returns the resource that the client read, so that only that version is changed, even if others change it too.

    Returns None if the client sets no condition; raises `PreconditionFailed` if the resource has changed.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    resource = await read()
    check_if_match(if_match, content_hash(encode(resource)))
    return resource


def _tag(body: bytes) -> tuple[bytes, bytes]:
    return (b"etag", entity_tag(content_hash(body), gzip=False).encode())
