"""The trace of an event: a separate trace, from the change of an order to the receiver.

update (the client's root)      [.................................]
├── send shop_order.outbox      [.....]
├── deliver                           [.........]
│   └── Notify (CLIENT)                [.......]
│       └── Notify (SERVER)             [.....]
│           └── pool.acquire, INSERT     [...]
├── process shop_notification...            [......]
└── push                                           [....]
"""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace import SpanKind

from shop.platform.telemetry.trace_context import caller_of

from .conftest import Shop, open_stream, until


@pytest.fixture(scope="module")
def relayed() -> bool:
    """False: a test here decides what is delivered together."""
    return False


@pytest.mark.parametrize("session_traces", ["lean", "sdk"], indirect=True)
async def test_an_event_of_a_traced_call_is_followed(shop: Shop, traces: Any, user: int) -> None:
    async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
        with traces.journey() as root:
            await shop.buy(user)
        assert await shop.relay.deliver() == 2
        updates = [(await following()).notification for _ in range(2)]
    contexts = [caller_of(update.traceparent) for update in updates]
    assert len({root.trace_id, *(context.trace_id for context in contexts)}) == 3
    deliveries = []
    for context in contexts:

        async def is_pushed(context: Any = context) -> bool:
            return "push" in {span.name for span in traces.of(context)}

        await until(is_pushed)
        spans = {(span.name, span.kind): span for span in traces.of(context)}
        sent = spans["send shop_order.outbox", SpanKind.PRODUCER]
        deliver = spans["deliver", SpanKind.INTERNAL]
        taken = spans["process shop_notification.notification", SpanKind.CONSUMER]
        push = spans["push", SpanKind.INTERNAL]
        for top in (sent, deliver, taken, push):
            assert top.parent.span_id == context.span_id
        assert sent.end_time <= deliver.start_time <= taken.start_time < taken.end_time <= push.start_time
        assert push.start_time <= push.end_time
        assert sent.attributes["messaging.destination.name"] == "shop_order.outbox"
        assert taken.attributes["messaging.operation.type"] == "process"
        [cause] = sent.links
        assert cause.trace_id == root.trace_id
        assert cause.span_id in {span.context.span_id for span in traces.of(root)}
        deliveries.append((deliver, spans, taken))
    (deliver, spans, taken), (beside, others, _) = deliveries
    call = spans["shop.notification.v1.NotificationService/Notify", SpanKind.CLIENT]
    served = spans["shop.notification.v1.NotificationService/Notify", SpanKind.SERVER]
    stored = spans["INSERT notification", SpanKind.CLIENT]
    assert [call.parent, served.parent, stored.parent] == [deliver.context, call.context, served.context]
    assert deliver.start_time <= served.start_time <= taken.start_time <= stored.end_time
    # There is one call for both events, in the trace of the first event.
    assert call.name not in {name for name, _ in others}
    assert [link.span_id for link in beside.links] == [deliver.context.span_id]
    assert beside.start_time <= call.start_time <= call.end_time <= beside.end_time


async def test_an_event_of_another_call_leaves_no_span(shop: Shop, traces: Any, user: int) -> None:
    async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
        with traces.journey(sampled=False):
            await shop.buy(user)
        await shop.relay.deliver()
        assert (await following()).notification.traceparent == ""
    assert traces.all() == []
