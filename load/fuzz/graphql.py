"""GraphQL requests generated from the schema: most are almost valid, some are not even text."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from graphql import (
    ArgumentNode,
    GraphQLSchema,
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
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from hypothesis_graphql import Mode, from_schema, nodes

from fuzz.inputs import PERSONAL, Input, draw_from
from fuzz.wire import h1_request

MAX_QUERY = 65_536
"""Maximum bytes of a query string, about the limit of the edge and the server."""
RARELY = st.integers(0, 9).map(lambda number: number == 7)
TEXTS = ["", "a", "ß", "İ@İ", "\u1c89x@example.com", "\u202e\x00", "😀" * 20, "1" * 5000, "SHIPPED", "c0001", "tok_ok"]
NUMBERS = [0, 20, 1000, -1, 2**31, 2**63, 10**49, 1.0, 0.5, -0.0, 1e300]
ODD = ['"""', "...", "\\ud800", "\\u{110000}", "@skip", "1e999", "1" * 4400, "null", "fragment", "query", "mutation"]
ODD += ["", "[" * 3000, *'{}()[]"$@!#&İé😀\ufeff\x00\ud800']
MEDIA_TYPES = ["application/json", "application/json; charset=\xff", "text/plain", "application/graphql", ""]
ACCEPTED = ["application/graphql-response+json", "*/*", "text/html", "text/event-stream;q=zzz", ""]

_KINDS = ["Product", "Order", "User", "Payment", "OrderLine"]
_IDS = st.builds(
    lambda kind, number: base64.b64encode(f"{kind}:{number}".encode()).decode(),
    st.sampled_from(_KINDS),
    st.integers(0, 30),
)
_SCALARS: dict[str, Any] = {"Long": st.integers(0, 100).map(nodes.Int), "ID": _IDS.map(nodes.String)}
OTHER = st.builds(
    lambda value, depth: json.loads("[" * depth + json.dumps(value) + "]" * depth),
    st.sampled_from([None, True, {}, *NUMBERS, *TEXTS]),
    st.sampled_from([0, 1, 90]),
)


class _Lifted(Visitor):
    """Moves argument values into variables, and replaces some of the values."""

    def __init__(self, info: TypeInfo, draw: Callable[..., Any]) -> None:
        super().__init__()
        self.info, self.draw = info, draw
        self.kinds, self.values = dict[str, str](), dict[str, Any]()

    def enter_argument(self, node: ArgumentNode, *_: Any) -> ArgumentNode:
        name = f"v{len(self.kinds)}"
        self.kinds[name] = str(self.info.get_input_type() or "Int")
        self.values[name] = (
            self.draw(OTHER) if self.draw(st.integers(0, 9)) == 0 else _personal(value_from_ast_untyped(node.value))
        )
        return ArgumentNode(name=node.name, value=VariableNode(name=NameNode(value=name)))


def _personal(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: PERSONAL.get(key) or _personal(inner) for key, inner in value.items()}


@st.composite
def _spoilt(draw: Callable[..., Any], text: str) -> str:
    """Overwrites a text at some random places."""
    for _ in range(draw(st.sampled_from([1, 1, 3, 10]))):
        place = draw(st.integers(0, len(text)))
        end = place + draw(st.sampled_from([0, 1, 5, 40]))
        text = text[:place] + draw(st.sampled_from([*ODD, text[place:end] * 3])) + text[end:]
    return text


def requests(schema: GraphQLSchema) -> SearchStrategy[tuple[str, str, bytes]]:
    """Makes requests as they are sent over HTTP: method, query string and body."""
    documents = st.one_of(
        [from_schema(schema, mode=mode, custom_scalars=_SCALARS) for mode in (Mode.POSITIVE, Mode.NEGATIVE)]
    )

    @st.composite
    def one(draw: Callable[..., Any]) -> tuple[str, str, bytes]:
        text = draw(documents)
        variables: Any = {}
        if draw(st.booleans()):
            info = TypeInfo(schema)
            lifted = _Lifted(info, draw)
            operation, _, selected = print_ast(visit(parse(text), TypeInfoVisitor(info, lifted))).partition("{")
            declared = "".join(f"${name}: {kind} " for name, kind in lifted.kinds.items())
            text, variables = f"{operation or 'query'} q({declared}) {{{selected}", lifted.values
        if draw(RARELY):
            text = get_introspection_query(descriptions=True)
        elif draw(RARELY) or draw(RARELY):
            text = draw(_spoilt(text))
        body: dict[str, Any] = {"query": text, "variables": draw(OTHER) if draw(RARELY) else variables}
        if draw(RARELY):
            body["operationName"] = draw(st.sampled_from(["q", "nobody", "İ@İ", 7, ""]))
        if draw(RARELY):
            digest = draw(
                st.sampled_from([hashlib.sha256(text.encode(errors="replace")).hexdigest(), "0" * 64, "İ", 5])
            )
            persisted = {"version": draw(st.sampled_from([1, 1.0, "1"])), "sha256Hash": digest}
            body |= {"extensions": {"persistedQuery": persisted}, **({} if draw(st.booleans()) else {"query": None})}
        if draw(RARELY):
            parts = {name: part if isinstance(part, str) else json.dumps(part) for name, part in body.items()}
            return "GET", urlencode(parts, errors="replace")[:MAX_QUERY], b""
        raw = json.dumps(body, ensure_ascii=draw(st.booleans()))
        return "POST", "", (draw(_spoilt(raw)) if draw(RARELY) else raw).encode(errors="surrogatepass")

    return one()


def graphql_inputs(way: str, schema: GraphQLSchema, tokens: Sequence[str], seed: str) -> Iterator[Input]:
    """Yields requests to the gateway endlessly; tokens are values of the header `authorization`."""
    types = st.sampled_from(MEDIA_TYPES[:1] * 9 + MEDIA_TYPES), st.sampled_from(ACCEPTED[:1] * 9 + ACCEPTED)
    for (method, query, body), token, sent, wanted in draw_from(
        st.tuples(requests(schema), st.sampled_from(tokens), *types), seed
    ):
        headers = [("content-type", sent), ("accept", wanted), ("authorization", token)]
        target = "/graphql" + ("?" + query if query else "")
        yield Input(way, h1_request(method, target, [pair for pair in headers if pair[1]], body))
