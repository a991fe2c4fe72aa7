"""The spans of a component, and its account of them, from which hop budgets are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from otlp_collector import Collector

from .components import ComponentContract, Rows
from .conftest import Start
from .doors import GrpcDoor, Headers

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
KINDS = {1: "INTERNAL", 2: "SERVER", 3: "CLIENT"}


def test_a_sampled_request_leaves_its_spans_and_an_account(
    start: Start,
    settings: dict[str, str],
    contracted: ComponentContract,
    collector: Collector,
    tmp_path: Path,
    rows: Rows,
    allowed: Headers,
) -> None:
    name = contracted.component
    traced = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "SHOP_INSTANCE": f"{name}-2",
        "SHOP_TRIAL": "t1",
        "SHOP_TOPOLOGY": "mine",
        "SHOP_TELEMETRY_FOLDER": str(tmp_path),
        "SHOP_DELAY_US": "1500",
    }
    with start(settings | traced) as program:
        program.wait_until_serving()
        for flag, call in (("01", contracted.read), ("00", contracted.read), ("01", contracted.missing)):
            headers = {**allowed, "traceparent": f"00-{TRACE}-{CALLER}-{flag}"}
            program.door.ask(call.name, call.content(rows), headers)
        program.stop()
    assert len(collector.spans_named(contracted.served)) == 2, "one of each sampled request, and none of the other"
    served, missing = collector.spans_named(contracted.served)
    assert (KINDS[served.kind], served.trace_id.hex(), served.parent_span_id.hex()) == ("SERVER", TRACE, CALLER)
    assert "error.type" not in attributes(served)
    if isinstance(program.door, GrpcDoor):  # over HTTP, the status shows the error
        assert attribute(missing, "error.type") == "NOT_FOUND"
    assert missing.status.code != missing.status.STATUS_CODE_ERROR, "what is the caller's fault is no error of a server"
    assert attribute(served, "shop.injected_delay_ms") == 1.5
    assert attribute(served, "shop.injected_delay_took_ms") >= 1.5
    own = {span.span_id: span for span in collector.spans}
    for below, kind in contracted.below.items():
        children = collector.spans_named(below)
        assert len(children) == 2, f"{len(children)} spans {below} instead of one in each sampled request"
        child, _ = children
        assert KINDS[child.kind] == kind, below
        assert root_of(child, own) is served, f"{below} is not below {contracted.served}"
        if below.startswith("SELECT"):
            assert attribute(child, "db.system.name") == "postgresql"
    resource = {"service.name": name, "service.instance.id": f"{name}-2", "shop.trial": "t1", "shop.topology": "mine"}
    assert all(resource.items() <= of.items() for of in collector.resources)
    account = json.loads((tmp_path / f"{name}-2.json").read_text())
    left = len(collector.spans)
    counted = {key: account.get(key) for key in ("recorded", "exported", "lost")}
    assert counted == {"recorded": left, "exported": left, "lost": 0}
    costs = account.get("cost_ns", {})
    without = {kind for kind in {"SERVER", *contracted.below.values()} if not costs.get(kind, 0) > 0}
    assert not without, f"the account has no cost_ns of {', '.join(sorted(without))}"


def test_callees_get_the_callers_span(
    start: Start,
    settings: dict[str, str],
    contracted: ComponentContract,
    collector: Collector,
    session_traces: Any,
    rows: Rows,
    allowed: Headers,
) -> None:
    if contracted.calling is None:
        pytest.skip(f"{contracted.component} calls nobody")
    call, called = contracted.calling
    session_traces.clear()
    with start(settings | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}) as program:
        program.wait_until_serving()
        headers = {**allowed, "traceparent": f"00-{TRACE}-{CALLER}-01"}
        assert program.door.ask(call.name, call.content(rows), headers).code == ""
        program.stop()
    for name in called:
        (client,) = collector.spans_named(name)
        (server,) = [span for span in session_traces.all() if span.name == name]
        assert (KINDS[client.kind], client.trace_id.hex()) == ("CLIENT", TRACE), name
        assert f"{server.context.trace_id:032x}" == TRACE, name
        assert f"{server.parent.span_id:016x}" == client.span_id.hex(), name


def root_of(span: Any, known: dict[bytes, Any]) -> Any:
    """Returns the topmost span of the component above a span."""
    while span.parent_span_id in known:
        span = known[span.parent_span_id]
    return span


def attribute(span: Any, name: str) -> Any:
    """Returns the value of an attribute, which must exist."""
    known = attributes(span)
    assert name in known, f"the span {span.name} has no attribute {name}; it has: {', '.join(known) or 'none'}"
    return known[name]


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
