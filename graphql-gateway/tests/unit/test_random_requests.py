"""Whatever a client sends, the answer is quick, and never the server's fault.

The requests are made from the schema: most are nearly valid, some are not even text.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from graphql import (
    ArgumentNode,
    NameNode,
    TypeInfo,
    TypeInfoVisitor,
    VariableNode,
    Visitor,
    get_introspection_query,
    parse,
    print_ast,
    value_from_ast_untyped,
    visit,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import Mode, from_schema, nodes

from graphql_gateway.objects.global_id import global_id
from graphql_gateway.schema import build_schema
from shop.platform.graphql.internals import core_schema
from shop.platform.http.body import MOST_BYTES

SCHEMA = core_schema(build_schema())
RARELY = st.integers(0, 9).map(lambda drawn: drawn == 7)
MOST_CPU_S = 0.25
RESPONSE_JSON = "application/graphql-response+json"
TEXTS = ["", "a", "ß", "İ@İ", "\u1c89x@example.com", "\u202e\x00", "😀" * 20, "1" * 5000, "SHIPPED", "c0001", "tok_ok"]
NUMBERS = [0, 20, 1000, -1, 2**31, 2**63, 10**49, 1.0, 0.5, -0.0, 1e300]
ODD = ['"""', "...", "\\ud800", "\\u{110000}", "@skip", "1e999", "1" * 4400, "null", "fragment", "query", "mutation"]
ODD += ["", "[" * 3000, *'{}()[]"$@!#&İé😀\ufeff\x00\ud800']

IDS = st.builds(global_id, st.sampled_from(["Product", "Order", "User", "Payment", "OrderLine"]), st.integers(0, 30))
SCALARS: dict[str, Any] = {"Long": st.integers(0, 100).map(nodes.Int), "ID": IDS.map(nodes.String)}
DOCUMENTS = st.one_of(
    [from_schema(SCHEMA, mode=mode, custom_scalars=SCALARS) for mode in (Mode.POSITIVE, Mode.NEGATIVE)]
)
OTHER = st.builds(
    lambda value, depth: json.loads("[" * depth + json.dumps(value) + "]" * depth),
    st.sampled_from([None, True, {}, *NUMBERS, *TEXTS]),
    st.sampled_from([0, 1, 90]),
)


class Lifted(Visitor):
    """Moves values of arguments into variables, and puts others in place of some."""

    def __init__(self, info: TypeInfo, draw: Callable[..., Any]) -> None:
        super().__init__()
        self.info, self.draw = info, draw
        self.kinds, self.values = dict[str, str](), dict[str, Any]()

    def enter_argument(self, node: ArgumentNode, *_: Any) -> ArgumentNode:
        name = f"v{len(self.kinds)}"
        self.kinds[name] = str(self.info.get_input_type() or "Int")
        self.values[name] = (
            self.draw(OTHER) if self.draw(st.integers(0, 9)) == 0 else value_from_ast_untyped(node.value)
        )
        return ArgumentNode(name=node.name, value=VariableNode(name=NameNode(value=name)))


@st.composite
def spoilt(draw: Callable[..., Any], text: str) -> str:
    """A text with some of its places overwritten."""
    for _ in range(draw(st.sampled_from([1, 1, 3, 10]))):
        place = draw(st.integers(0, len(text)))
        end = place + draw(st.sampled_from([0, 1, 5, 40]))
        text = text[:place] + draw(st.sampled_from([*ODD, text[place:end] * 3])) + text[end:]
    return text


@st.composite
def requests(draw: Callable[..., Any]) -> tuple[str, str, bytes]:
    """Method, query string and body of a request as it goes over HTTP."""
    text = draw(DOCUMENTS)
    variables: Any = {}
    if draw(st.booleans()):
        info = TypeInfo(SCHEMA)
        lifted = Lifted(info, draw)
        operation, _, selected = print_ast(visit(parse(text), TypeInfoVisitor(info, lifted))).partition("{")
        declared = "".join(f"${name}: {kind} " for name, kind in lifted.kinds.items())
        text, variables = f"{operation or 'query'} q({declared}) {{{selected}", lifted.values
    if draw(RARELY):
        text = get_introspection_query(descriptions=True)
    elif draw(RARELY) or draw(RARELY):
        text = draw(spoilt(text))
    body: dict[str, Any] = {"query": text, "variables": draw(OTHER) if draw(RARELY) else variables}
    if draw(RARELY):
        body["operationName"] = draw(st.sampled_from(["q", "nobody", "İ@İ", 7, ""]))
    if draw(RARELY):
        digest = draw(st.sampled_from([hashlib.sha256(text.encode(errors="replace")).hexdigest(), "0" * 64, "İ", 5]))
        persisted = {"version": draw(st.sampled_from([1, 1.0, "1"])), "sha256Hash": digest}
        body = {**body, "extensions": {"persistedQuery": persisted}, **({} if draw(st.booleans()) else {"query": None})}
    if draw(RARELY):
        parts = {name: part if isinstance(part, str) else json.dumps(part) for name, part in body.items()}
        # About the most that the edge and the server take.
        return "GET", urlencode(parts, errors="replace")[:MOST_BYTES], b""
    raw = json.dumps(body, ensure_ascii=draw(st.booleans()))
    return "POST", "", (draw(spoilt(raw)) if draw(RARELY) else raw).encode(errors="surrogatepass")


def test_random_requests_are_answered_quickly_and_never_with_a_server_error(gateway: Any) -> None:
    app, ran = gateway.http._transport.app, 0
    tokens = {"": None, **{kind: f"Bearer {gateway.token(kind)}".encode() for kind in ("customer", "partner")}}

    @settings(
        max_examples=int(os.environ.get("RANDOM_REQUESTS", "300")),
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(), st.sampled_from(sorted(tokens)))
    def is_answered(request: tuple[str, str, bytes], caller: str) -> None:
        nonlocal ran
        status, body, cpu = loop.run(_answer(app, *request, tokens[caller]))
        assert status < 500, body
        assert b'"INTERNAL"' not in body
        assert cpu <= MOST_CPU_S
        ran += b'"data":{' in body

    # The collector would walk through all that pytest holds, within whichever request it happens to run.
    gc.collect()
    gc.freeze()
    try:
        with asyncio.Runner() as loop:
            is_answered()
    finally:
        gc.unfreeze()
    print(f"{ran} requests with data")
    assert ran > 15, "too few of the requests are good enough to run"


async def _answer(app: Any, method: str, query: str, body: bytes, token: bytes | None) -> tuple[int, bytes, float]:
    headers = [(b"content-type", b"application/json"), (b"accept", RESPONSE_JSON.encode())]
    headers += [(b"authorization", token)] if token else []
    scope = {"type": "http", "path": "/graphql", "method": method, "query_string": query.encode(), "headers": headers}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    # Documents are prepared in another thread.
    began = time.process_time()
    await app(scope, receive, send)
    took = time.process_time() - began
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), took
