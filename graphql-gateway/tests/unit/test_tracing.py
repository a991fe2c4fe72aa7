"""The spans of a document: what is done with it, by one thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from recorded_spans import spans_of
from shop.instrument.lean.spans import EndedSpan, RecordedSpan, Recorder
from shop.platform.telemetry.tracing import traced_by

SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
QUERY = "query titles { products { edges { node { title } } } }"


class Watched(Recorder):
    """Notes which threads spans start and end on; there is no lock for several."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def start(self, *args: Any, **kwargs: Any) -> RecordedSpan:
        self.threads.add(threading.get_ident())
        return super().start(*args, **kwargs)

    def keep(self, ended: EndedSpan) -> None:
        self.threads.add(threading.get_ident())
        super().keep(ended)


@pytest.mark.ours
@pytest.mark.parametrize("query", [QUERY, "{ nothing }", "{"])
async def test_spans_are_recorded_by_one_thread(gateway: Any, query: str) -> None:
    with traced_by(Watched()) as recorder:
        await gateway.post({"query": query}, traceparent=SAMPLED)

    assert "graphql.parse" in {span.name for span in spans_of(recorder)}
    assert recorder.threads == {threading.get_ident()}


async def test_a_document_is_parsed_once(gateway: Any) -> None:
    for parts in ({"graphql.parse", "graphql.validate", "graphql.execute"}, {"graphql.execute"}):
        with traced_by(Recorder()) as recorder:
            await gateway.post({"query": QUERY}, traceparent=SAMPLED)
        assert {span.name for span in spans_of(recorder)} == {"POST /graphql", *parts}
