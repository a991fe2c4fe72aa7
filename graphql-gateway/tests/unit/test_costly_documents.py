"""Whatever a document says, it costs little before it runs: a search for the most costly ones.

It begins with what honest clients send, and with documents made from the schema and a seed; of these it changes the
most costly ones, in classes of a size each. What they cost is counted in steps: calls of functions, as Python's
profiler sees them, of which there are as many each time, however busy the machine is.

    COSTLY_DOCUMENTS=10000 .venv/bin/pytest -q -n0 -s graphql-gateway/tests/unit/test_costly_documents.py
"""

from __future__ import annotations

import bisect
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType

import pytest
from graphql import (
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    get_introspection_query,
    get_named_type,
)

from graphql_gateway.cost import CostModel
from graphql_gateway.schema import build_schema
from shop.errors import ShopError
from shop.platform.graphql.documents import prepare
from shop.platform.graphql.errors import RequestError
from shop.platform.graphql.internals import core_schema
from shop.platform.http.body import MOST_BYTES

SEED = 20_260_102
COUNT = int(os.environ.get("COSTLY_DOCUMENTS", "200"))
SIZES = (256, 1024, 4096, 16_384, MOST_BYTES)
"""Characters that the documents of each class have at most."""
MOST_STEPS = 200_000
"""A thousand take between 0.1 and 0.2 ms of CPU, so this is less than 50 ms."""
KEPT = 30

DOCUMENTS = Path(__file__).resolve().parents[3] / "load" / "internal" / "graphql" / "documents"
HONEST = [
    *[file.read_text() for file in sorted(DOCUMENTS.glob("*.graphql"))],
    get_introspection_query(descriptions=True),
]


def in_product(selections: str) -> str:
    return f"{{ products(first: 1) {{ edges {{ node {{ {selections} }} }} }} }} "


def each(text: str, times: int) -> str:
    return " ".join(text.replace("#", str(number)) for number in range(times))


REPEATED: Mapping[str, Callable[[int], str]] = {
    "fields": lambda n: in_product("id title " * n),
    "objects": lambda n: in_product("price { currency } " * n),
    "objects in objects": lambda n: "{" + "products { edges { node { price { currency } } } } " * n + "}",
    "arguments": lambda n: in_product("reviews(first: 1) { id } " * n),
    "directives": lambda n: in_product("id @include(if: true) " * n),
    "inline fragments": lambda n: in_product("... on Product { id } " * n),
    "fragments": lambda n: in_product(each("...F#", n)) + each("fragment F# on Product { id title }", n),
    "fragments in fragments": lambda n: (
        f"{{ me {{ ...F0 }} }} fragment F{n} on User {{ id }} "
        + " ".join(f"fragment F{m} on User {{ id ...F{m + 1} ...F{min(m + 2, n)} }}" for m in range(n))
    ),
    "fragments in fields": lambda n: (
        "{" + f"me {{ {each('...F#', 5)} }} " * n + "}" + each("fragment F# on User { id name }", 5)
    ),
    "operations": lambda n: (
        each("query q# { ...F }", n) + f" fragment F on Query {{ product(id: [{'$a ' * n}]) {{ id }} }}"
    ),
    "introspection": lambda n: "{" + "__schema { types { name } } " * n + "}",
    "unknown types": lambda n: "{" + each("... on OrderLineConnectio# { id }", n) + "}",
    "unknown arguments": lambda n: "{ products(" + each("firs#: 1", n) + ") { pageInfo { endCursor } } }",
    "values": lambda n: f"mutation {{ checkout(input: {{ lines: [{'{ quantity: 1 }' * n}] }}) {{ order {{ id }} }} }}",
    "comments": lambda n: "{ __typename\n" + "#\n" * n + "}",
    "escapes": lambda n: '{ product(id: "' + "\\n" * n + '") { id } }',
}
"""Documents with something in them as often as told."""

OPENING, CLOSING = "{([", "])}"
PIECE = re.compile(
    r'(?:fragment\s+\w+\s+on|query|mutation)\s*\w*|\.\.\.\s*(?:on\s+)?\w*|[$@]\w+|\w+\s*:|""".*?"""|"[^"\n]*"|#.*\n|[\w.-]+|\S',
    re.DOTALL,
)
"""A word together with what it means nothing without: `fragment F on Order`, `...F`, `alias:`."""
LAST_NAME = re.compile(r"[A-Za-z]\w*(?=\W*$)")
LONG = "a" * 200
VALUES = ("1", "$v0", "$v1", "null", "true", '"a"', f'"{LONG}"', '"""a\n  b"""', "[1]", "{ a: 1 }", "SHIPPED", "9" * 40)
SELECTED = (
    *("__typename", "nothing", LONG, "id", "price { currency }", "...F0", "... on Node", "#\n", ",,,,", "produkts"),
    "__schema { types { name fields { name type { name ofType { name } } } } }",
)
WRAPPINGS = (("... {", "}"), ("[", "]"), ("a {", "}"), ("{ a:", "}"))


SCHEMA = core_schema(build_schema())


@dataclass
class Search:
    """A search for costly documents.

    Args:
        chance: Source of everything random.

    Attributes:
        kept: Steps and text of the most costly documents so far, the most costly first.
    """

    chance: random.Random
    kept: list[tuple[int, str]] = field(default_factory=list)

    def documents(self, size: int) -> Iterator[str]:
        """Writes documents of a size, without end; whoever takes one notes what it costs."""
        repeated = [repeat(most_times(name)) for name, repeat in REPEATED.items()]
        yield from (text for text in [*HONEST, *repeated] if len(text) <= size)
        while True:
            text = self.changed(self.one_kept(), size) if self.kept and self.happens(0.85) else self.fresh()
            if len(text) <= size:
                yield text

    def note(self, text: str, steps: int) -> None:
        """Keeps a document if it is one of the most costly ones."""
        self.kept = sorted({*self.kept, (steps, text)}, reverse=True)[:KEPT]

    def one_kept(self) -> str:
        return self.kept[int(len(self.kept) * self.chance.random() ** 2)][1]

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def fresh(self) -> str:
        """A document made from the schema."""
        kind = self.chance.choice(["query", "query", "mutation"])
        root = SCHEMA.mutation_type if kind == "mutation" else SCHEMA.query_type
        assert root is not None
        objects = [one for one in SCHEMA.type_map.values() if isinstance(one, GraphQLObjectType)]
        fragments = []
        for number in range(self.chance.choice([0, 1, 2, 4])):
            on = self.chance.choice(objects)
            fragments.append(f"fragment F{number} on {on.name} {self.selection_set(on, 2)}")
        variables = self.chance.choice(["", "($v0: Int! $v1: ID = 1)", "($v0: Boolean!)"])
        return " ".join([f"{kind} q{variables} {self.selection_set(root, 0)}", *fragments])

    def selection_set(self, parent: GraphQLNamedType, depth: int) -> str:
        selections = [self.selection(parent, depth) for _ in range(self.chance.choice([1, 1, 2, 4]))]
        return f"{{ {' '.join(selections)} }}"

    def selection(self, parent: GraphQLNamedType, depth: int) -> str:
        directive = self.chance.choice([*[""] * 6, "@skip(if: $v0)", "@include(if: true)", "@nothing"])
        kind = self.chance.randrange(8)
        if kind == 0 and depth < 6:
            on = self.chance.choice(["", f"on {parent.name}", "on Node", "on Order"])
            return f"... {on} {directive} {self.selection_set(parent, depth + 1)}"
        if kind == 1:
            return f"...F{self.chance.randrange(4)} {directive}"
        if kind == 2 or not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
            return self.chance.choice(SELECTED)
        name, definition = self.chance.choice(list(parent.fields.items()))
        alias = self.chance.choice(["", "", "a:", f"a{self.chance.randrange(9)}:"])
        given = " ".join(f"{one}: {self.chance.choice(VALUES)}" for one in definition.args if self.happens(0.7))
        inner = get_named_type(definition.type)
        below = self.selection_set(inner, depth + 1) if isinstance(inner, GraphQLObjectType) and depth < 8 else ""
        return f"{alias} {name}{f'({given})' if given else ''} {directive} {below}"

    def changed(self, text: str, size: int) -> str:
        """A document with one to three of its parts repeated, dropped, replaced or wrapped."""
        pieces = PIECE.findall(text)
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            begin = self.chance.randrange(len(pieces))
            end = end_of_part(pieces, begin)
            part = pieces[begin:end]
            match self.chance.randrange(8):
                case 0 if len(part) < len(pieces):
                    del pieces[begin:end]
                case 1:
                    other = PIECE.findall(self.one_kept() if self.happens(0.5) else self.fresh())
                    start = self.chance.randrange(len(other))
                    pieces[begin : self.chance.choice([begin, end])] = other[start : end_of_part(other, start)]
                case 2:
                    times = self.chance.choice([1, 3, 30])
                    head, foot = self.chance.choice(WRAPPINGS)
                    pieces[begin:end] = [*PIECE.findall(head) * times, *part, *PIECE.findall(foot) * times]
                case 3:
                    pieces[begin] = self.chance.choice([*SELECTED, *VALUES])
                case _:
                    room = (size - sum(map(len, pieces)) - len(pieces)) // (sum(map(len, part)) + len(part))
                    times = min(self.chance.choice([1, 3, 10, 30, 100, 1000, 10_000]), room)
                    numbers = range(times) if self.happens(0.3) else [""] * times
                    copies = [[LAST_NAME.sub(rf"\g<0>{number}", part[0]), *part[1:]] for number in numbers]
                    pieces[begin:begin] = [piece for copy in copies for piece in copy]
        return " ".join(pieces)


def end_of_part(pieces: list[str], begin: int) -> int:
    """Returns the end of a piece together with the groups behind it: `price { currency }`."""
    depth = 0
    for place in range(begin, len(pieces)):
        depth += (pieces[place] in OPENING) - (pieces[place] in CLOSING)
        if depth <= 0 and (place + 1 == len(pieces) or pieces[place + 1] not in OPENING):
            return place + 1
    return len(pieces)


def refusal(text: str) -> str:
    """Does what the gateway does with a document before it runs; returns why it refuses it, empty if it does not."""
    try:
        prepare(SCHEMA, text, CostModel)
    except (ShopError, RequestError) as error:
        return str(error)
    return ""


def steps(text: str) -> int:
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        refusal(text)
    finally:
        sys.setprofile(None)
    return counted


def cpu_ms(text: str) -> float:
    took = []
    for _ in range(5):
        began = time.thread_time()
        refusal(text)
        took.append(time.thread_time() - began)
    return min(took) * 1000


@cache
def most_times(name: str) -> int:
    """Returns how often something can be repeated until a limit refuses it."""

    def is_too_much(times: int) -> bool:
        return "limit" in refusal(REPEATED[name](times))

    return bisect.bisect_left(range(1, 10_000), True, key=is_too_much)


def test_no_document_costs_much_before_it_runs() -> None:
    search = Search(random.Random(SEED))
    for size in SIZES:
        for text in islice(search.documents(size), COUNT // len(SIZES)):
            search.note(text, steps(text))
        most, worst = search.kept[0]
        told = f"{most:,} steps, {cpu_ms(worst):.1f} ms of CPU for {len(worst):,} characters of {size:,}"
        print(f"{told}: {worst[:50]!r} ... {worst[len(worst) // 2 :][:80]!r}: {refusal(worst)[:80] or 'runs'}")
        assert most < MOST_STEPS, f"{told}: {worst}"


@pytest.mark.parametrize("name", REPEATED)
def test_what_is_repeated_as_often_as_the_limits_allow_costs_little(name: str) -> None:
    repeat, times = REPEATED[name], most_times(name)
    most = steps(repeat(times))
    print(f"{name}, {times} times: {most:,} steps, {cpu_ms(repeat(times)):.1f} ms of CPU")
    assert most < MOST_STEPS
    # Beyond the limits, the document is read up to them and not validated.
    for more in (times + 1, 2 * times, 10_000):
        assert steps(repeat(more)) < MOST_STEPS / 4
