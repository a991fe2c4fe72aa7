"""Whatever a client sends, the answer is quick, and never the server's fault.

The requests are made from the schema and a seed: most are nearly valid, some are not even text.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    get_introspection_query,
    get_named_type,
    is_list_type,
    is_non_null_type,
)

from graphql_gateway.objects.global_id import global_id
from graphql_gateway.schema import build_schema
from shop.platform.graphql.internals import core_schema
from shop.platform.http.body import MOST_BYTES

SEED = 20_260_101
COUNT = int(os.environ.get("RANDOM_REQUESTS", "700"))
MOST_CPU_S = 0.25
RESPONSE_JSON = "application/graphql-response+json"
INTEGERS = [0, 1, 2, 3, 20, 100, 1000, -1, 2**31 - 1, 2**31, 2**63, 10**49, 10**4400]
FLOATS = [1.0, 20.0, 1000.0, 0.5, -0.0, 1e300, 1e22]
TEXTS = ["", "a", "ß", "c0001", "İ@İ", "\u1c89x@example.com", "\u202e\x00", "😀" * 20, "1" * 5000, "SHIPPED", "tok_ok"]
ODD = ['"""', "...", "\\ud800", "\\u{110000}", "@skip", "1e999", "1" * 4400, "null", "fragment", "query", "mutation"]
ODD += '{}()[]"$@!#&İé😀\ufeff\x00'
MUTATIONS = 0.3
FAN_OUT_DEPTH = 30
MOST_SELECTIONS = 25


@dataclass(frozen=True)
class Sent:
    """One request as it goes over HTTP.

    Attributes:
        method: GET or POST.
        query_string: Of the URL.
        body: Of a POST.
        caller: Whose token it brings: "customer", "partner", or nobody's.
    """

    method: str
    query_string: str
    body: bytes
    caller: str


def random_requests(schema: GraphQLSchema, seed: int, count: int) -> Iterator[Sent]:
    """Gives as many requests as asked for; the same for the same seed."""
    for number in range(count):
        yield _Writer(schema, random.Random(f"{seed}:{number}")).request()


@dataclass
class _Writer:
    schema: GraphQLSchema
    chance: random.Random
    definitions: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    fragments: list[str] = field(default_factory=list)
    selections: int = 0

    def request(self) -> Sent:
        text = self.document()
        if self.happens(MUTATIONS):
            text = self.mutated(text)
        body: dict[str, Any] = {"query": text, "variables": self.values}
        if self.happens(0.05):
            body["operationName"] = self.chance.choice(["q", "nobody", "İ@İ", 7, ""])
        if self.happens(0.05):
            digest = self.chance.choice([hashlib.sha256(text.encode(errors="replace")).hexdigest(), "0" * 64, "İ", 5])
            body["extensions"] = {
                "persistedQuery": {"version": self.chance.choice([1, 1, 1.0, "1"]), "sha256Hash": digest}
            }
            if self.happens(0.3):
                del body["query"]
        if self.happens(0.03):
            body["variables"] = self.chance.choice([[], "x", None, 10**400, {"": {}}])
        caller = self.chance.choice(["customer", "customer", "partner", "partner", ""])
        if self.happens(0.1):
            parts = {name: part if isinstance(part, str) else json.dumps(part) for name, part in body.items()}
            query_string = urlencode(parts, errors="replace")
            if len(query_string) <= MOST_BYTES:  # about the most that the edge and the server take
                return Sent("GET", query_string, b"", caller)
        raw = json.dumps(body, ensure_ascii=self.happens(0.5)).encode(errors="surrogatepass")
        if self.happens(0.05):
            place = self.chance.randrange(len(raw))
            raw = (
                raw[:place]
                + self.chance.choice([b"\xff", b"", b"\x00", b"]", b"[" * 3000, b"1" * 5000])
                + raw[place + 1 :]
            )
        return Sent("POST", "", raw, caller)

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def document(self) -> str:
        if self.happens(0.02):
            return get_introspection_query(descriptions=True)
        operation = "mutation" if self.happens(0.2) else "query"
        root = self.schema.mutation_type if operation == "mutation" else self.schema.query_type
        assert root is not None
        selected = self.selection_set(root, 0)
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.definitions.items())
        named = self.happens(0.5)
        head = f"{operation} {'q' if named else ''}{f'({declared})' if declared else ''}"
        more = " query r { __typename }" if named and self.happens(0.1) else ""
        return f"{head} {selected}{more} {' '.join(self.fragments)}"

    def selection_set(self, parent: GraphQLNamedType, depth: int) -> str:
        parts = []
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            self.selections += 1
            kind = self.chance.random()
            if kind < 0.08:
                parts.append(f"... {self.condition(parent)}{self.directive()}{self.selection_set(parent, depth + 1)}")
            elif kind < 0.14:
                parts.append(f"...{self.fragment(parent, depth + 1)}{self.directive()}")
            elif kind < 0.18:
                parts.append(self.introspection())
            else:
                parts.append(self.field_of(parent, depth))
        return "{ " + " ".join(parts) + " }"

    def condition(self, parent: GraphQLNamedType) -> str:
        return self.chance.choice(["", f"on {parent.name} "] * 9 + ["on Node ", "on Order "])

    def field_of(self, parent: GraphQLNamedType, depth: int) -> str:
        fields = getattr(parent, "fields", None)
        if not fields or depth > 12 or self.happens(0.01):
            return self.chance.choice(["__typename", "__typename", "nothing", "a" * 3000])
        name = self.chance.choice(list(fields))
        definition: GraphQLField = fields[name]
        # The same field twice, with other arguments, is seldom valid.
        alias = f"a{self.selections}: " if self.happens(0.5 if definition.args else 0.05) else ""
        times = self.chance.choice([2, 40, 300]) if self.happens(0.01) else 1
        inner = get_named_type(definition.type)
        below = ""
        if isinstance(inner, GraphQLObjectType | GraphQLInterfaceType):
            # Too many of them pass the limit of tokens, and nothing else would be tested.
            spent = self.selections > MOST_SELECTIONS
            below = " { __typename }" if spent else " " + self.selection_set(inner, depth + 1)
        return " ".join([f"{alias}{name}{self.arguments(definition)}{self.directive()}{below}"] * times)

    def arguments(self, definition: GraphQLField) -> str:
        given = [
            f"{name}: {self.argument(argument.type)}"
            for name, argument in definition.args.items()
            if self.happens(0.95 if is_non_null_type(argument.type) else 0.3)
        ]
        return f"({', '.join(given)})" if given else ""

    def argument(self, kind: GraphQLInputType) -> str:
        value = self.value(kind)
        if not self.happens(0.5):
            return _literal(value)
        name = f"v{len(self.definitions)}"
        declared = str(kind)
        if self.happens(0.2):
            declared = declared.removesuffix("!")
        elif self.happens(0.1) and not isinstance(get_named_type(kind), GraphQLInputObjectType):
            declared += f" = {_literal(self.value(kind))}"
        self.definitions[name] = declared
        if not self.happens(0.15):
            self.values[name] = value
        return f"${name}"

    def value(self, kind: Any, depth: int = 0) -> Any:
        if is_non_null_type(kind):
            return self.value(kind.of_type, depth)
        if self.happens(0.02):
            deep: Any = self.chance.choice([None, True, [], {}, *INTEGERS, *FLOATS, *TEXTS])
            for _ in range(self.chance.choice([0, 0, 1, 90])):
                deep = [deep]
            return deep
        if is_list_type(kind):
            return [self.value(kind.of_type, depth + 1) for _ in range(self.chance.choice([1, 1, 2, 101]))]
        if isinstance(kind, GraphQLInputObjectType):
            made = {name: self.value(one.type, depth + 1) for name, one in kind.fields.items() if self.happens(0.9)}
            return {**made, self.chance.choice(["x", "İ@İ"]): 1} if self.happens(0.03) else made
        if isinstance(kind, GraphQLEnumType):
            return _Name(self.chance.choice([*kind.values, *kind.values, "NOTHING"]))
        if kind.name in ("Int", "Long"):
            return self.chance.choice(INTEGERS[:6] * 8 + INTEGERS + FLOATS)
        if kind.name == "ID":
            return global_id(
                self.chance.choice(["Product", "Order", "User", "Payment", "OrderLine"]), self.chance.randrange(30)
            )
        return self.chance.choice(TEXTS)

    def directive(self) -> str:
        if not self.happens(0.06):
            return ""
        condition = self.chance.choice(["true", "false"] * 9 + ["1", "$v0", '"İ"'])
        return f" @{self.chance.choice(['include', 'skip'] * 9 + ['defer', 'nothing'])}(if: {condition})"

    def fragment(self, parent: GraphQLNamedType, depth: int) -> str:
        name = f"F{len(self.fragments)}"
        self.fragments.append("")
        place = len(self.fragments) - 1
        if self.happens(0.5) and len(self.fragments) == 1:
            chain = [
                f"fragment {name}_{n} on {parent.name} {{ ...{name}_{n + 1} ...{name}_{n + 1} }}"
                for n in range(self.chance.choice([5, 12, FAN_OUT_DEPTH]))
            ]
            last = f"fragment {name}_{len(chain)} on {parent.name} {self.selection_set(parent, depth)}"
            self.fragments[place] = " ".join([*chain, last])
            return f"{name}_0"
        self.fragments[place] = f"fragment {name} on {parent.name} {self.selection_set(parent, depth)}"
        return name

    def introspection(self) -> str:
        types = "types { fields { args { name type { name ofType { name } } } type { name } } possibleTypes { name } }"
        several = " ".join(f"s{n}: __schema {{ {types} }}" for n in range(self.chance.choice([1, 5, 20])))
        return self.chance.choice(["__typename", "__typename", several, '__type(name: "Order") { fields { name } }'])

    def mutated(self, text: str) -> str:
        for _ in range(self.chance.choice([1, 1, 3, 10])):
            place = self.chance.randrange(len(text) + 1)
            end = min(len(text), place + self.chance.choice([0, 1, 5, 40]))
            with_ = self.chance.choice([*ODD, "", text[place:end] * 3, text[place - 30 : place]])
            text = text[:place] + with_ + text[end:]
        return text


class _Name(str):
    """The name of an enum's value: a string in JSON, without quotes in a document."""


def _literal(value: Any) -> str:
    match value:
        case _Name():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{name}: {_literal(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


async def test_random_requests_are_answered_quickly_and_never_with_a_server_error(gateway: Any) -> None:
    schema = core_schema(build_schema())
    app = gateway.http._transport.app
    tokens = {kind: f"Bearer {gateway.token(kind)}".encode() for kind in ("customer", "partner")}
    # JSON writes numbers of any length; only their way back into Python has a limit.
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    requests = list(random_requests(schema, SEED, COUNT))
    sys.set_int_max_str_digits(limit)
    # The collector would walk through all that pytest holds, within whichever request it happens to run.
    gc.collect()
    gc.freeze()
    slowest, ran = 0.0, 0
    try:
        for number, request in enumerate(requests):
            status, body, cpu = await _answer(app, request, tokens.get(request.caller))
            told = (
                f"request {number} of seed {SEED}: {status} {body[:300]!r} after {cpu * 1000:.0f} ms of CPU: {request}"
            )
            assert status < 500, told[:4000]
            assert b'"INTERNAL"' not in body, told[:4000]
            assert cpu <= MOST_CPU_S, told[:4000]
            slowest, ran = max(slowest, cpu), ran + (b'"data":{' in body)
    finally:
        gc.unfreeze()
    print(f"{COUNT} requests, {ran} of them with data; {slowest * 1000:.0f} ms of CPU at most")
    assert ran > COUNT / 20, "too few of the requests are good enough to run"


async def _answer(app: Any, request: Sent, token: bytes | None) -> tuple[int, bytes, float]:
    headers = [(b"content-type", b"application/json"), (b"accept", RESPONSE_JSON.encode())]
    scope = {
        "type": "http",
        "method": request.method,
        "path": "/graphql",
        "query_string": request.query_string.encode(),
        "headers": [*headers, (b"authorization", token)] if token else headers,
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": request.body}

    async def send(message: Any) -> None:
        sent.append(message)

    # Documents are prepared in another thread.
    began = time.process_time()
    await app(scope, receive, send)
    took = time.process_time() - began
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), took
