"""The delay of calls: once in a call's SERVER span, before the work, and nowhere else.

Only over gRPC, because the servers of all protocols answer requests through the same steps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.trace import SpanKind

from puppet import Puppet, connected
from recorded_spans import let_servers_end
from recording.injected_delay import ASKED_ATTRIBUTE, TOOK_ATTRIBUTE, InjectedDelay, InjectedHold
from recording.loop import BUSY
from shop.errors import NotFound
from shop.platform.process.runtime import Runtime
from shop.values.product import Product, ProductRow

DELAY_US = 2_000
MISSING = 2**62


class Noting(Puppet):
    """Records when its work began."""

    def __init__(self) -> None:
        super().__init__()
        self.began_ns: list[int] = []

    async def get_product(self, product_id: int) -> Product:
        self.began_ns.append(time.monotonic_ns())
        return await super().get_product(product_id)

    async def stream_product_rows(self, **asked: int) -> AsyncIterator[list[ProductRow]]:
        self.began_ns.append(time.monotonic_ns())
        async for rows in super().stream_product_rows(**asked):
            yield rows


@contextmanager
def delayed(runtime: Runtime) -> Iterator[Runtime]:
    with closing(InjectedDelay(DELAY_US)) as delay:
        yield replace(runtime, before_work=(delay.pause,))


async def test_every_call_is_delayed_once_before_its_work(traces: Any) -> None:
    puppet = Noting()
    with delayed(traces.runtime) as late:
        async with connected("grpc", puppet, late) as clients:
            with traces.journey() as root:
                called_ns = time.monotonic_ns()
                await clients.product.get_product(1)
            with traces.journey() as failed, pytest.raises(NotFound):
                await clients.product.get_product(MISSING)
            await let_servers_end()
    assert puppet.began_ns[0] >= called_ns + DELAY_US * 1_000
    for journey in (root, failed):
        spans = traces.of(journey)
        (span,) = [span for span in spans if span.kind is SpanKind.SERVER]
        assert span.attributes[ASKED_ATTRIBUTE] == 2
        assert 2 <= span.attributes[TOOK_ATTRIBUTE] <= (span.end_time - span.start_time) / 1e6
        below = [other for other in spans if other.parent.span_id == span.context.span_id]
        assert all(other.start_time >= span.start_time + DELAY_US * 1_000 for other in below)


async def test_a_request_that_waited_for_the_loop_records_it(traces: Any) -> None:
    held_us = 12_000
    holding = replace(traces.runtime, before_work=(InjectedHold(held_us, every=2).pause,))
    async with connected("grpc", Puppet(), holding, traces.runtime) as clients:
        await clients.product.get_product(1)

        async def call() -> Any:
            with traces.journey() as root:
                await clients.product.get_product(1)
            return root

        for _ in range(100):
            began_ns, used_ns = time.monotonic_ns(), time.thread_time_ns()
            # Of two calls that arrive together, one blocks the loop, and the other waits for the loop or is done.
            roots = await asyncio.gather(*(call() for _ in range(4)))
            lost_ns = time.monotonic_ns() - began_ns - (time.thread_time_ns() - used_ns)
            # If other programs took the core meanwhile, a delayed call looks as if it had paused; so try again.
            if lost_ns < held_us * 1_000 / 3:
                break
        else:
            pytest.skip("others had the core in each of 100 rounds")
        await let_servers_end()
    spans = [span for root in roots for span in traces.of(root)]
    held = [span for span in spans if TOOK_ATTRIBUTE in span.attributes]
    assert {span.attributes[ASKED_ATTRIBUTE] for span in held} == {held_us / 1_000}
    assert [span.kind for span in held] == [SpanKind.SERVER] * 2
    waits = [span.attributes.get(BUSY, 0.0) for span in spans if span not in held]
    assert max(waits) >= held_us / 1_000


async def test_calls_that_are_not_traced_are_delayed_too(traces: Any) -> None:
    puppet = Noting()
    with delayed(traces.runtime) as late:
        async with connected("grpc", puppet, late) as clients:
            for sampled in (False, None):
                called_ns = time.monotonic_ns()
                if sampled is None:
                    await clients.product.get_product(1)
                else:
                    with traces.journey(sampled=sampled):
                        await clients.product.get_product(1)
                assert puppet.began_ns[-1] >= called_ns + DELAY_US * 1_000
    assert not traces.all()


async def test_a_stream_is_delayed_once(traces: Any) -> None:
    puppet = Noting()
    with delayed(traces.runtime) as late:
        async with connected("grpc", puppet, late) as clients:
            with traces.journey() as root:
                called_ns = time.monotonic_ns()
                rows = [row async for row in clients.product.stream_product_rows(limit=20)]
            await let_servers_end()
    assert len(rows) == 20
    assert puppet.began_ns[0] >= called_ns + DELAY_US * 1_000
    (span,) = [span for span in traces.of(root) if span.kind is SpanKind.SERVER]
    assert span.attributes[ASKED_ATTRIBUTE] == 2
