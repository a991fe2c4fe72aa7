"""New documents are prepared one at a time while known documents are executed; the cache of documents is bounded."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from shop.contract.calls import PRODUCT
from shop.errors import TooManyRequests
from shop.platform.access.rules import Authenticator
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.documents import PAUSE_FACTOR, Documents
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.error_format import PersistedQueryNotFound
from shop.platform.graphql.schema import RequestContext, core_schema
from shop.platform.graphql.service import schema_of
from shop.platform.incoming import Incoming

SCHEMA = schema_of(PRODUCT)
TEXTS = [f"query q{number} {{ __typename }}" for number in range(4)]
PREPARES_S = 0.02


class Preparation:
    """Replaces the measurement of a document's cost, which is the last step of its preparation."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __call__(self, schema: Any, document: Any) -> Any:
        self.documents.append(document)
        assert self.goes_on.wait(timeout=20)

    async def begun(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.documents) < count:  # noqa: ASYNC110 - another thread counts
                await asyncio.sleep(0.001)


@pytest.fixture
def preparation() -> Iterator[Preparation]:
    made = Preparation()
    yield made
    made.goes_on.set()


async def test_known_documents_do_not_wait(preparation: Preparation) -> None:
    documents = Documents(core_schema(SCHEMA), preparation)
    known = await documents.find(TEXTS[0], None)
    preparation.goes_on.clear()
    unknown = [asyncio.create_task(documents.find(text, None)) for text in TEXTS[1:]]
    await preparation.begun(2)
    assert await documents.find(TEXTS[0], None) is known
    await asyncio.sleep(0.05)
    assert len(preparation.documents) == 2, "there are several at a time"
    preparation.goes_on.set()
    assert [next(iter(prepared.operations)) for prepared in await asyncio.gather(*unknown)] == ["q1", "q2", "q3"]


async def test_a_document_from_many_clients_at_once_is_prepared_once(preparation: Preparation) -> None:
    documents = Documents(core_schema(SCHEMA), preparation)
    first, *others = await asyncio.gather(*[documents.find(TEXTS[0], None) for _ in range(10)])
    assert all(other is first for other in others)
    assert len(preparation.documents) == 1


async def test_a_flood_from_one_address_delays_another_by_one_document(preparation: Preparation) -> None:
    begun: list[str] = []

    def context(headers: dict[bytes, bytes]) -> RequestContext:
        begun.append(headers[EDGE_MARK.encode()].decode())
        return RequestContext(begun[-1])

    endpoint = Endpoint(SCHEMA, context, Incoming(Authenticator(None)), preparation)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint), base_url="http://gateway") as client:

        def send(text: str, address: str) -> asyncio.Task[httpx.Response]:
            return asyncio.create_task(client.post("/graphql", json={"query": text}, headers={EDGE_MARK: address}))

        preparation.goes_on.clear()
        flood = [send(text, "192.0.2.1") for text in TEXTS[:3]]
        await preparation.begun(1)
        other = send(TEXTS[3], "192.0.2.2")
        async with asyncio.timeout(20):
            while len(begun) < len(TEXTS):  # noqa: ASYNC110 - nothing signals it
                await asyncio.sleep(0.001)
        preparation.goes_on.set()
        await asyncio.gather(other, *flood)
    order = [document.definitions[0].name.value for document in preparation.documents]
    assert (order.index("q3"), len(order)) == (1, len(TEXTS))


async def test_few_requests_from_one_address_wait(preparation: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every waiting request occupies a connection from the edge, which other clients need."""
    monkeypatch.setattr("shop.platform.graphql.documents.MAX_WAITING", 2)
    documents = Documents(core_schema(SCHEMA), preparation)

    def find(text: str, address: str | None) -> asyncio.Task[Any]:
        return asyncio.create_task(documents.find(text, None, address))

    preparation.goes_on.clear()
    begun, abandoned = (find(text, "192.0.2.1") for text in TEXTS[:2])
    await preparation.begun(1)
    with pytest.raises(TooManyRequests) as refusal:
        await documents.find(TEXTS[2], None, "192.0.2.1")
    assert refusal.value.retry_after_s == 1
    abandoned.cancel()
    await asyncio.wait([abandoned])
    waiting = [find(TEXTS[2], "192.0.2.1"), find(TEXTS[2], "192.0.2.2"), *(find(TEXTS[3], None) for _ in range(3))]
    preparation.goes_on.set()
    await asyncio.gather(begun, *waiting)


async def test_after_each_there_is_a_rest() -> None:
    times = []

    def prepare(schema: Any, document: Any) -> Any:
        times.append(time.monotonic())
        began = time.thread_time()
        while time.thread_time() - began < PREPARES_S:
            pass
        times.append(time.monotonic())

    documents = Documents(core_schema(SCHEMA), prepare)
    await asyncio.gather(*[documents.find(text, None) for text in TEXTS[:2]])
    assert times[2] - times[1] >= PAUSE_FACTOR * PREPARES_S


async def test_a_turn_that_comes_too_late_is_answered_in_time(preparation: Preparation) -> None:
    endpoint = Endpoint(SCHEMA, lambda _headers: RequestContext(), Incoming(Authenticator(None)), preparation)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint), base_url="http://gateway") as client:
        preparation.goes_on.clear()
        waits = {"x-envoy-expected-rq-timeout-ms": "200"}
        answers = await asyncio.gather(
            *[client.post("/graphql", json={"query": text}, headers=waits) for text in TEXTS[:3]]
        )
        for answer in answers:
            assert answer.json()["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"
        preparation.goes_on.set()
        answer = await client.post("/graphql", json={"query": TEXTS[3]})
        assert answer.json() == {"data": {"__typename": "Query"}}


async def test_the_store_is_bounded_and_a_flood_of_texts_leaves_persisted_queries_alone() -> None:
    documents = Documents(core_schema(SCHEMA), capacity=2)
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in TEXTS]
    await documents.find(TEXTS[0], hashes[0])
    for text in TEXTS:
        await documents.find(text, None)
    kept = await documents.find(None, hashes[0])
    assert await documents.find(TEXTS[0], hashes[0]) is kept
    await documents.find(TEXTS[1], hashes[1])
    await documents.find(None, hashes[0])
    await documents.find(TEXTS[2], hashes[2])
    with pytest.raises(PersistedQueryNotFound):
        await documents.find(None, hashes[1])
    assert await documents.find(None, hashes[0]) is kept
