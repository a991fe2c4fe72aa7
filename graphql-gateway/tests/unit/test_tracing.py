"""The spans of a document: what is done with it, by one thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from recorded_spans import spans_of
from recording.lean.spans import EndedSpan, RecordedSpan, Recorder

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


@pytest.fixture
def recorder() -> Watched:
    return Watched()


@pytest.mark.ours
@pytest.mark.parametrize("query", [QUERY, "{ nothing }", "{"])
async def test_spans_are_recorded_by_one_thread(gateway: Any, recorder: Watched, query: str) -> None:
    await gateway.post({"query": query}, traceparent=SAMPLED)

    assert "graphql.parse" in {span.name for span in spans_of(recorder)}
    assert recorder.threads == {threading.get_ident()}


@pytest.mark.ours
async def test_a_document_is_parsed_once(gateway: Any, recorder: Watched) -> None:
    for parts in ({"graphql.parse", "graphql.validate", "graphql.execute"}, {"graphql.execute"}):
        recorder.waiting.clear()
        await gateway.post({"query": QUERY}, traceparent=SAMPLED)
        assert {span.name for span in spans_of(recorder)} == {"POST /graphql", *parts}
