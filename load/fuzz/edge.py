"""Almost valid requests to the edge: over TCP, TLS, HTTP/2, QUIC and UDP."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

from fuzz.inputs import Input, mutate
from fuzz.wire import client_hello, h1_request, h2_request, h3_request, quic_datagram

PLAIN = ("tcp-h1", "tcp-h2")
ENCRYPTED = (*("tls-h1", "tls-h2", "tcp", "udp") * 4, "quic")
"""Ways to send to an edge without and with TLS. QUIC is rare, because its handshake is slow here."""
QUERY = json.dumps({"query": "{products(first:1){edges{node{id}}}}"}).encode()
TARGETS = (
    ("GET", "/v1/products?page_size=2", b""),
    ("POST", "/graphql", QUERY),
    ("POST", "/v1/sessions", b"{}"),
    ("POST", "/shop.product.v1.ProductService/GetProduct", b"\0\0\0\0\2\x08\1"),
    ("OPTIONS", "*", b""),
)
HEADERS = (("accept", "*/*"), ("content-type", "application/json"), ("x-request-id", "1"))
WORDS = (
    *(b"\r\n", b"\n", b"\0", b" ", b":", b"\xff" * 20, b"x" * 70_000),
    *(b"HTTP/9.9", b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Expect: 100-continue\r\n"),
    *(b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Upgrade: h2c\r\n", b"TE: gzip\r\n"),
    *(b"Host: \r\n", b"CONNECT "),
    *(b"\0\0\0\x04\0\0\0\0\0", b"\0\0\4\3\0\0\0\1\0\0\0\x08"),  # frames
    *(b"\0\0\x08\6\0\0\0\0\0abcdefgh", b"\xff\xff\xff"),
)


def edge_inputs(ways: Sequence[str], port: int, seed: str) -> Iterator[Input]:
    """Yields mutations of valid requests endlessly, for all `ways` in turn; datagrams need the edge's `port`."""
    chance = random.Random(seed)
    valid = {way: _valid(way, port) for way in ways}
    while True:
        for way in ways:
            yield Input(way, mutate(chance, valid[way], WORDS))


def _valid(way: str, port: int) -> Sequence[bytes]:
    if way == "udp":
        return [quic_datagram(port)]
    if way == "tcp":
        return [client_hello(), *_valid("tcp-h1", port)]
    if way.endswith("h1"):
        plain = [h1_request(method, path, HEADERS, body) for method, path, body in TARGETS]
        chunks = b'4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n'
        head = h1_request("POST", "/v1/sessions", [*HEADERS, ("transfer-encoding", "chunked")])
        return [*plain, head.replace(b"content-length: 0\r\n", b"") + chunks]
    make = h3_request if way == "quic" else h2_request
    return [
        make(
            [
                (b":method", method.encode()),
                (b":scheme", b"https"),
                (b":authority", b"shop"),
                (b":path", path.encode()),
                *((name.encode(), value.encode()) for name, value in HEADERS),
            ],
            body,
        )
        for method, path, body in TARGETS
    ]
