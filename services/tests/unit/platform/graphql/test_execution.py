"""An execution of a GraphQL document lets others run, and stops at its deadline or once its client has gone."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
import pytest
import strawberry

from shop.platform.access.rules import Authenticator
from shop.platform.graphql import execution
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.execution import FIELDS_PER_TURN
from shop.platform.graphql.field import field
from shop.platform.graphql.schema import RequestContext, Schema
from shop.platform.incoming import Incoming

WIDTH = 30
ALL = WIDTH + WIDTH**2 + WIDTH**3
THREE_DEEP = "{ things { number things { number things { number } } } }"

resolved = 0
"""How often a field `number` was resolved."""


@strawberry.type
class Thing:
    @field(description="A number.")
    def number(self) -> int:
        global resolved
        resolved += 1
        return 1

    @field(description="More of them.")
    def things(self) -> list[Thing]:
        return [Thing()] * WIDTH

    @field(description="More of them, known later.")
    async def later(self) -> list[Thing]:
        return [Thing()] * WIDTH


@strawberry.type
class Query:
    @field(description="Things.")
    def things(self) -> list[Thing]:
        return [Thing()] * WIDTH

    @field(description="Many things.")
    def many(self) -> list[Thing]:
        return [Thing()] * (10 * FIELDS_PER_TURN)

    @field(description="Things that take their time.")
    def slow(self) -> list[Thing]:
        time.sleep(0.05)
        return [Thing()] * WIDTH


@strawberry.type
class Mutation:
    @field(description="Things.")
    async def make(self) -> list[Thing]:
        await asyncio.sleep(3 * execution.NOTICED_AFTER_S)
        return [Thing()] * WIDTH


ENDPOINT = Endpoint(Schema(Query, Mutation), lambda _: RequestContext(), Incoming(Authenticator(None)))


async def ask(query: str, *, leaves: bool = False, **headers: str) -> dict[str, Any]:
    """Returns the answer to a query, whose client waits or leaves at once."""
    global resolved
    resolved = 0
    body, sent, left = orjson.dumps({"query": query}), [], asyncio.Event()
    messages = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        if not messages and not leaves:
            await left.wait()
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "path": "/graphql",
        "method": "POST",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    await ENDPOINT(scope, receive, send)
    read: dict[str, Any] = orjson.loads(sent[-1]["body"])
    return read


def codes(answer: dict[str, Any]) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]


@pytest.mark.parametrize(
    "query", ["{ many { number } }", THREE_DEEP, "{ things { later { number later { number } } } }"]
)
async def test_others_have_their_turn(query: str) -> None:
    most = seen = 0

    async def watch() -> None:
        nonlocal most, seen
        while True:
            most, seen = max(most, resolved - seen), resolved
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    try:
        await ask(query, x_envoy_expected_rq_timeout_ms="30000")
    finally:
        watching.cancel()
    assert 0 < most <= 2 * FIELDS_PER_TURN


async def test_an_execution_stops_at_its_deadline() -> None:
    assert codes(await ask(THREE_DEEP, x_envoy_expected_rq_timeout_ms="100")) == ["DEADLINE_EXCEEDED"]
    assert 0 < resolved < ALL
    done = resolved
    await asyncio.sleep(0.1)
    assert resolved == done


async def test_a_list_that_comes_too_late_is_not_resolved() -> None:
    assert codes(await ask("{ slow { number } }", x_envoy_expected_rq_timeout_ms="20")) == ["DEADLINE_EXCEEDED"]
    assert resolved == 0


async def test_a_query_stops_when_its_client_has_gone() -> None:
    assert codes(await ask(THREE_DEEP, leaves=True, x_envoy_expected_rq_timeout_ms="30000")) == ["DEADLINE_EXCEEDED"]
    assert 0 < resolved < ALL


async def test_a_mutation_continues_after_its_client_has_gone() -> None:
    answer = await ask("mutation { make { number } }", leaves=True)
    assert len(answer["data"]["make"]) == resolved == WIDTH
