"""Any document costs little CPU before it runs: a search for the most costly documents.

The search begins with documents of honest clients, with documents that are costly by design, and with documents made
from the schema. It repeats parts of them, and continues from the most costly documents. The cost is counted in steps:
function calls, as Python's profiler sees them. Their number is the same each time, even on a busy machine.

    COSTLY_DOCUMENTS=10000 .venv/bin/pytest -q -n0 graphql-gateway/tests/unit/test_costly_documents.py
"""

from __future__ import annotations

import bisect
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import pytest
from graphql import get_introspection_query
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st
from hypothesis_graphql import from_schema, nodes

from graphql_gateway.cost import TARIFF
from graphql_gateways import DOCUMENTS, SCHEMA
from shop.errors import ShopError
from shop.platform.graphql.documents import parse_document, prepare_document
from shop.platform.graphql.error_format import RequestError

MAX_STEPS = 200_000
"""A thousand steps take between 0.1 and 0.2 ms of CPU, so this is less than 50 ms."""

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
"""Documents that repeat something a given number of times."""

STARTS = [*HONEST, *[repeat(10) for repeat in REPEATED.values()]]

PIECE = re.compile(
    r'(?:fragment\s+\w+\s+on|query|mutation)\s*\w*|\.\.\.\s*(?:on\s+)?\w*|[$@]\w+|\w+\s*:|""".*?"""|"[^"\n]*"|#.*\n|[\w.-]+|\S',
    re.DOTALL,
)
"""A word together with the part that it needs: `fragment F on Order`, `...F`, `alias:`."""

LONG = st.integers(0, 100).map(nodes.Int)


@st.composite
def documents(draw: Callable[..., Any]) -> str:
    """Returns a document with repeated parts, with a number in each copy or without."""
    text = draw(st.one_of(from_schema(SCHEMA, custom_scalars={"Long": LONG}), st.sampled_from(STARTS)))
    pieces = PIECE.findall(text)
    for size in draw(st.lists(st.sampled_from([100, 250, 500, 5000]), max_size=3)):
        begin = draw(st.integers(0, len(pieces) - 1))
        part = pieces[begin : end_of_part(pieces, begin)]
        numbered = draw(st.booleans())
        for number in range((size - len(pieces)) // len(part)):
            pieces[begin:begin] = [f"{part[0]}{number}" if numbered else part[0], *part[1:]]
    return " ".join(pieces)


def end_of_part(pieces: list[str], begin: int) -> int:
    """Returns the end of a piece together with the groups after it: `price { currency }`."""
    depth = 0
    for place in range(begin, len(pieces)):
        depth += (pieces[place] in "{([") - (pieces[place] in "})]")
        if depth <= 0 and (place + 1 == len(pieces) or pieces[place + 1] not in "{(["):
            return place + 1
    return len(pieces)


def refusal(text: str) -> str:
    """Treats a document as the gateway does before the document runs; returns why it is refused, or an empty text."""
    try:
        prepare_document(SCHEMA, parse_document(text), TARIFF.measure)
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


def most_times(name: str) -> int:
    """Returns how often something can be repeated until a limit refuses it."""

    def is_too_much(times: int) -> bool:
        return "limit" in refusal(REPEATED[name](times))

    return bisect.bisect_left(range(1, 10_000), True, key=is_too_much)


@settings(
    max_examples=int(os.environ.get("COSTLY_DOCUMENTS", "20")),
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.target],
    suppress_health_check=list(HealthCheck),
)
@given(documents())
def test_no_document_costs_much_before_it_runs(text: str) -> None:
    most = steps(text)
    target(float(most))
    assert most < MAX_STEPS, f"{most:,} steps, {cpu_ms(text):.1f} ms of CPU: {refusal(text)[:80] or 'runs'}"


@pytest.mark.parametrize("name", REPEATED)
def test_repetitions_up_to_the_limits_cost_little(name: str) -> None:
    repeat, times = REPEATED[name], most_times(name)
    most = steps(repeat(times))
    print(f"{name}, {times} times: {most:,} steps, {cpu_ms(repeat(times)):.1f} ms of CPU")
    assert most < MAX_STEPS
    # Beyond the limits, the document is read up to the limits and not validated.
    for more in (times + 1, 2 * times, 10_000):
        assert steps(repeat(more)) < MAX_STEPS / 4
