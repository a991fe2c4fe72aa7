"""Malformed, odd or too large requests, as bytes, and the answer that both edges must give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import hpack
from hyperframe.frame import DataFrame, HeadersFrame, SettingsFrame

PASSED, CLOSED, RESET = "passed on", "closed", "reset"
"""Outcomes other than an error: the component behind the edge answers; the connection ends without an answer; only the
stream ends."""
INVALID, METHOD, VERSION = "400 INVALID_ARGUMENT", "405 INVALID_ARGUMENT", "426 INVALID_ARGUMENT"
LARGE_BODY, LARGE_HEADERS, LATE = "413 RESOURCE_EXHAUSTED", "431 RESOURCE_EXHAUSTED", "408 DEADLINE_EXCEEDED"
NOWHERE = "404 NOT_FOUND"
IN_GRAPHQL = "in GraphQL's form"
"""Suffix after the status and the code; without it, an error is a problem (RFC 9457)."""


@dataclass(frozen=True)
class Row:
    """One request.

    Attributes:
        name: The request's defect, in the documentation's words.
        sent: The request's bytes.
        answer: The answer of both edges: the status with the code in the body, a gRPC status, or an outcome above.
        but: A different answer of one of the edges' programs.
        why: The reason for the different answer.
    """

    name: str
    sent: bytes
    answer: str
    but: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


HOST = b"host: shop\r\n"


def _get(line: bytes = b"GET /v1/products HTTP/1.1", headers: bytes = b"", host: bytes = HOST) -> bytes:
    return line + b"\r\n" + host + headers + b"\r\n"


def _header(line: bytes) -> bytes:
    return _get(headers=line + b"\r\n")


def _post(headers: bytes, body: bytes = b"{}", path: bytes = b"/v1/products") -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + headers + b"\r\n\r\n" + body


def _chunks(body: bytes) -> bytes:
    return _post(b"transfer-encoding: chunked", body)


def _upgrade(to: bytes, path: bytes = b"/v1/products") -> bytes:
    key = b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    return _get(b"GET " + path + b" HTTP/1.1", b"connection: upgrade\r\nupgrade: " + to + b"\r\n" + key)


def _call(headers: bytes = b"") -> bytes:
    return _post(b"content-type: application/grpc\r\n" + headers + b"content-length: 0", b"", b"/shop.a.v1.A/B")


_NGINX_LINE = "nginx refuses the line"
_NGINX_SILENT = "nginx closes without an answer"
_CODEC = "Envoy's codec accepts it"
OVER_HTTP1: Sequence[Row] = (
    Row("an ordinary request", _get(), PASSED),
    Row("two requests at once", _get() + _get(b"GET /nowhere HTTP/1.1"), PASSED),
    Row("a path that leads nowhere", _get(b"GET /nowhere HTTP/1.1"), NOWHERE),
    Row("an unknown method", _get(b"BREW /v1/products HTTP/1.1"), METHOD),
    Row("a method of WebDAV", _get(b"PROPFIND /v1/products HTTP/1.1"), METHOD),
    Row("a method of 300 letters", _get(b"A" * 300 + b" /v1/products HTTP/1.1"), METHOD),
    Row("a method in small letters", _get(b"get /v1/products HTTP/1.1"), METHOD, {"kong": INVALID}, _NGINX_LINE),
    Row("TRACE", _get(b"TRACE /v1/products HTTP/1.1"), METHOD),
    Row("CONNECT", _get(b"CONNECT shop:80 HTTP/1.1"), INVALID),
    Row("CONNECT with a path", _get(b"CONNECT /v1/products HTTP/1.1"), INVALID, {"kong": METHOD}, _NGINX_LINE),
    Row("OPTIONS of `*`", _get(b"OPTIONS * HTTP/1.1"), INVALID, {"envoy": NOWHERE}, "for Envoy it is a path"),
    Row("a whole URL", _get(b"GET http://shop/v1/products HTTP/1.1"), PASSED),
    Row(
        "a whole URL with another scheme",
        _get(b"GET https://shop/v1/products HTTP/1.1"),
        INVALID,
        {"kong": PASSED},
        "nginx ignores the scheme",
    ),
    Row("a path without its slash", _get(b"GET v1/products HTTP/1.1"), INVALID),
    Row("no path", _get(b"GET  HTTP/1.1"), INVALID),
    Row("a space in the path", _get(b"GET /v1/prod ucts HTTP/1.1"), INVALID),
    Row("a tab in the path", _get(b"GET /v1/prod\tucts HTTP/1.1"), INVALID),
    Row("a NUL in the path", _get(b"GET /v1/prod\0ucts HTTP/1.1"), INVALID),
    Row("a DEL in the path", _get(b"GET /v1/prod\x7fucts HTTP/1.1"), INVALID),
    Row("letters beyond ASCII in the path", _get("GET /v1/prodücts HTTP/1.1".encode()), INVALID),
    Row("a fragment", _get(b"GET /v1/products#x HTTP/1.1"), INVALID),
    Row("%00 in the path", _get(b"GET /v1/products%00 HTTP/1.1"), INVALID),
    Row("%zz in the path", _get(b"GET /v1/%zz HTTP/1.1"), INVALID, {"envoy": PASSED}, "the component decides"),
    Row(
        "a path above the root",
        _get(b"GET /../v1/products HTTP/1.1"),
        INVALID,
        {"envoy": PASSED},
        "Envoy stops at the root (RFC 3986, 5.2.4)",
    ),
    Row(
        "a backslash in the path",
        _get(b"GET /v1\\products HTTP/1.1"),
        NOWHERE,
        {"envoy": PASSED},
        "Envoy reads it as a slash, as browsers do",
    ),
    Row("HTTP/1.0", _get(b"GET /v1/products HTTP/1.0"), VERSION),
    Row("HTTP/1.0 without a host", _get(b"GET /v1/products HTTP/1.0", host=b""), VERSION),
    Row("HTTP/1.9", _get(b"GET /v1/products HTTP/1.9"), VERSION),
    Row("HTTP/2.0 in a request's line", _get(b"GET /v1/products HTTP/2.0"), VERSION),
    Row("HTTP/0.9 in a request's line", _get(b"GET /v1/products HTTP/0.9"), VERSION, {"kong": INVALID}, _NGINX_LINE),
    Row(
        "no version",
        b"GET /v1/products\r\n\r\n",
        VERSION,
        {"kong": CLOSED},
        "nginx takes it for HTTP/0.9, which has no statuses",
    ),
    Row("another protocol's name", _get(b"GET /v1/products HTPP/1.1"), INVALID),
    Row("the beginning of TLS", b"\x16\x03\x01\x00\x05hello\r\n\r\n", INVALID),
    Row("no host", _get(host=b""), INVALID),
    Row("an empty host", _get(host=b"host:\r\n"), INVALID),
    Row("two hosts", _header(b"host: other"), INVALID),
    Row("a space in the host", _get(host=b"host: a b\r\n"), INVALID),
    Row("a slash in the host", _get(host=b"host: a/b\r\n"), INVALID),
    Row("a user in the host", _get(host=b"host: u@shop\r\n"), INVALID),
    Row("a header without a colon", _header(b"nocolon"), INVALID),
    Row("a header without a name", _header(b": x"), INVALID),
    Row("a header without a value", _header(b"x-any:"), PASSED),
    Row("a space before the colon", _header(b"x-any : y"), INVALID),
    Row("a space in a header's name", _header(b"x any: y"), INVALID),
    Row("a control character in a header's name", _header(b"x\x01any: y"), INVALID),
    Row("a bracket in a header's name", _header(b"x(any: y"), INVALID, {"kong": PASSED}, "nginx drops the header"),
    Row("a NUL in a header", _header(b"x-any: a\0b"), INVALID),
    Row("a control character in a header", _header(b"x-any: a\x01b"), INVALID),
    Row("a carriage return in a header", _header(b"x-any: a\rb"), INVALID, {"envoy": PASSED}, _CODEC),
    Row("a folded header", _header(b"x-any: a\r\n b"), INVALID, {"envoy": PASSED}, _CODEC),
    Row("a first header that is folded", _get(host=b" x: y\r\n" + HOST), INVALID),
    Row("lines that end with LF alone", b"GET /v1/products HTTP/1.1\nhost: shop\n\n", PASSED),
    Row("150 headers", _get(headers=b"".join(b"x-%d: y\r\n" % n for n in range(150))), LARGE_HEADERS),
    Row("a header of 70 KB", _header(b"x-any: " + b"x" * 70_000), LARGE_HEADERS),
    Row("a query of 70 KB", _get(b"GET /v1/products?" + b"x" * 70_000 + b" HTTP/1.1"), LARGE_HEADERS),
    Row(
        "a header of 200 KB",
        _header(b"x-any: " + b"x" * 200_000),
        LARGE_HEADERS,
        {"kong": INVALID},
        "above 128 KiB, nginx has one answer for every bad header",
    ),
    Row("two authorization headers", _header(b"authorization: a\r\nauthorization: b"), INVALID),
    Row(
        "a host that the connection header names",
        _header(b"connection: host"),
        INVALID,
        {"kong": PASSED},
        "nginx does not remove the headers named there",
    ),
    Row("two lengths", _post(b"content-length: 2\r\ncontent-length: 3"), INVALID),
    Row("a list of lengths", _post(b"content-length: 2, 2"), INVALID),
    Row("a negative length", _post(b"content-length: -1"), INVALID),
    Row("a length with a sign", _post(b"content-length: +2"), INVALID),
    Row("a length of 23 digits", _post(b"content-length: 99999999999999999999999"), INVALID),
    Row("a length that is too large", _post(b"content-length: 1000000000"), LARGE_BODY),
    Row("a length with chunks", _post(b"content-length: 2\r\ntransfer-encoding: chunked", b"0\r\n\r\n"), INVALID),
    Row("an unknown transfer coding", _post(b"transfer-encoding: gzip", b""), INVALID),
    Row("two transfer codings", _post(b"transfer-encoding: gzip, chunked", b"0\r\n\r\n"), INVALID),
    Row("a chunk without a size", _chunks(b"zz\r\n{}\r\n0\r\n\r\n"), INVALID),
    Row("a chunk that is longer than its size", _chunks(b"2\r\n{}0\r\n\r\n"), INVALID),
    Row("a chunk of 17 hexadecimal digits", _chunks(b"fffffffffffffffff\r\n{}"), INVALID),
    Row("a body that does not end", _post(b"content-length: 10"), LATE),
    Row("chunks that do not end", _chunks(b"2\r\n{}\r\n"), LATE),
    Row(
        "headers that do not end", b"GET /v1/products HTTP/1.1\r\nhost: shop\r\n", LATE, {"kong": CLOSED}, _NGINX_SILENT
    ),
    Row("an empty line and no more", b"\r\n", LATE, {"kong": CLOSED}, _NGINX_SILENT),
    Row("a WebSocket where there is none", _upgrade(b"websocket"), INVALID),
    Row("a WebSocket where there is one", _upgrade(b"websocket", b"/graphql/stream"), PASSED),
    Row("an upgrade to an unknown protocol", _upgrade(b"tea"), INVALID),
    Row("an upgrade to HTTP/2", _upgrade(b"h2c"), PASSED),
    Row(
        "a GraphQL request of two lengths",
        _post(b"content-length: 2\r\ncontent-length: 3", path=b"/graphql"),
        f"{INVALID} {IN_GRAPHQL}",
        {"envoy": INVALID},
        "Envoy's codec does not know the path yet",
    ),
    Row(
        "a GraphQL request that is too large",
        _post(b"content-length: 200000", path=b"/graphql"),
        f"{LARGE_BODY} {IN_GRAPHQL}",
    ),
    Row("a GraphQL request for two hosts", _upgrade(b"h2c\r\nhost: other", b"/graphql"), f"{INVALID} {IN_GRAPHQL}"),
    Row("a call of an unknown service", _call(), "grpc-status 12"),
    Row("a call whose timeout is not valid", _call(b"grpc-timeout: x\r\n"), "grpc-status 3"),
    Row("a call with two hosts", _call(HOST), "grpc-status 3"),
)


def _frame(headers: Sequence[tuple[str, str]], *more: bytes, ends: bool = True, stream: int = 1) -> bytes:
    frame = HeadersFrame(stream, data=hpack.Encoder().encode(headers))
    for flag in ("END_HEADERS", *(["END_STREAM"] if ends else [])):
        frame.flags.add(flag)
    return PREFACE + frame.serialize() + b"".join(more)


def _asks(*more: tuple[str, str], **other: str | None) -> list[tuple[str, str]]:
    usual = {"method": "GET", "scheme": "http", "path": "/v1/products", "authority": "shop", **other}
    return [(f":{name}", value) for name, value in usual.items() if value is not None] + list(more)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SettingsFrame(0).serialize()
_CALL = (("content-type", "application/grpc"), ("te", "trailers"))
_POST, _RPC = {"method": "POST"}, {"method": "POST", "path": "/shop.a.v1.A/B"}
_STREAM = {"envoy": RESET}
_RESETS = "RFC 9113 (8.1.1) allows both"
OVER_HTTP2: Sequence[Row] = (
    Row("an ordinary request", _frame(_asks()), PASSED),
    Row("an unknown method", _frame(_asks(method="BREW")), METHOD),
    Row("TRACE", _frame(_asks(method="TRACE")), METHOD),
    Row("CONNECT", _frame(_asks(method="CONNECT", path=None, scheme=None)), INVALID),
    Row("a fragment", _frame(_asks(path="/v1/products#x")), INVALID),
    Row("two authorization headers", _frame(_asks(("authorization", "a"), ("authorization", "b"))), INVALID),
    Row("a length that is too large", _frame(_asks(("content-length", "200000"), **_POST), ends=False), LARGE_BODY),
    Row("a call of an unknown service", _frame(_asks(*_CALL, **_RPC)), "grpc-status 12"),
    Row("a call whose timeout is not valid", _frame(_asks(*_CALL, ("grpc-timeout", "x"), **_RPC)), "grpc-status 3"),
    Row("no path", _frame(_asks(path=None)), INVALID, _STREAM, _RESETS),
    Row("no method", _frame(_asks(method=None)), INVALID, _STREAM, _RESETS),
    Row("no host", _frame(_asks(authority=None)), INVALID, _STREAM, _RESETS),
    Row("an unknown pseudo-header", _frame(_asks(x="y")), INVALID, _STREAM, _RESETS),
    Row("a header's name in capitals", _frame(_asks(("X-Any", "y"))), INVALID, _STREAM, _RESETS),
    Row("a connection header", _frame(_asks(("connection", "close"))), INVALID, _STREAM, _RESETS),
    Row("an upgrade", _frame(_asks(("upgrade", "websocket"))), INVALID, _STREAM, _RESETS),
    Row("a transfer coding", _frame(_asks(("transfer-encoding", "chunked"))), INVALID, _STREAM, _RESETS),
    Row("te: gzip", _frame(_asks(("te", "gzip"))), INVALID, _STREAM, _RESETS),
    Row("a control character in a header", _frame(_asks(("x-any", "a\x01b"))), INVALID, _STREAM, _RESETS),
    Row(
        "a body of another length than announced",
        _frame(
            _asks(("content-length", "9"), **_POST),
            DataFrame(1, data=b"{}", flags=["END_STREAM"]).serialize(),
            ends=False,
        ),
        INVALID,
        _STREAM,
        _RESETS,
    ),
    Row("150 headers", _frame(_asks(*((f"x-{n}", "y") for n in range(150)))), LARGE_HEADERS, _STREAM, _RESETS),
    Row(
        "a host header and `:authority`",
        _frame(_asks(("host", "other"))),
        INVALID,
        {"envoy": PASSED},
        "Envoy drops the header",
    ),
    Row(
        "a pseudo-header after others",
        _frame([("x-any", "y"), *_asks()]),
        RESET,
        {"kong": PASSED},
        "nginx ignores their order",
    ),
    Row(
        "a body that does not end",
        _frame(_asks(**_POST), ends=False),
        LATE,
        {"kong": RESET},
        "after 10 s; nginx expects no body",
    ),
    Row("data on stream 0", PREFACE + b"\0\0\1\0\0\0\0\0\0x", CLOSED),
    Row("a stream that only servers open", _frame(_asks(), stream=2), CLOSED),
    Row("a frame of 64 KiB", PREFACE + b"\1\0\0\0\0\0\0\0\1" + b"x" * 65_536, CLOSED),
    Row("settings of 5 bytes", PREFACE + b"\0\0\5\4\0\0\0\0\0" + b"x" * 5, CLOSED),
    Row("a frame of an unknown type", _frame(_asks()) + b"\0\0\1\xee\0\0\0\0\0x", PASSED),
)
