"""How spans reach the collector: kept while it is unavailable, sent during pauses, complete, and counted if lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import grpc
import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.trace import SpanContext, TraceFlags

from measured.runtime import resource, telemetry
from measured.settings import Measurement
from otlp_collector import export_handler
from recording import sdk
from recording.account import SpanAccount
from recording.lean.export import BATCH_SPANS, SLICE_SPANS, Patience, SpanExporter
from recording.lean.recorder import RecordedSpan, Recorder
from recording.switch import TRACINGS
from shop.platform.config import ServiceConfig
from shop.platform.telemetry.tracing import Spans, child_span

CALLER = SpanContext(2**127 + 5, 7, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
LIMIT_S = 20.0

Answer: TypeAlias = Callable[["grpc.aio.ServicerContext[bytes, bytes]"], Awaitable[ExportTraceServiceResponse]]


class Collector:
    """An OTLP receiver that keeps the spans that it accepts, and answers as a test says."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.asked = asyncio.Event()
        self.answers: list[Answer] = []

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order of their arrival."""
        return [
            span.name
            for request in self.requests
            for process in request.resource_spans
            for scope in process.scope_spans
            for span in scope.spans
        ]

    @asynccontextmanager
    async def listening(self, address: str) -> AsyncIterator[None]:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers([export_handler(self._take)])
        server.add_insecure_port(address)
        await server.start()
        try:
            yield
        finally:
            await server.stop(0)

    async def _take(
        self, request: ExportTraceServiceRequest, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> ExportTraceServiceResponse:
        self.asked.set()
        answer = await self.answers.pop(0)(context) if self.answers else ExportTraceServiceResponse()
        self.requests.append(request)
        return answer


def refusing(code: grpc.StatusCode) -> Answer:
    async def refuse(context: grpc.aio.ServicerContext[bytes, bytes]) -> ExportTraceServiceResponse:
        await context.abort(code, "not now")

    return refuse


async def hanging(_: object) -> ExportTraceServiceResponse:
    await asyncio.sleep(3_600)
    raise AssertionError


async def rejecting_one(_: object) -> ExportTraceServiceResponse:
    return ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message="odd"))


@dataclass(frozen=True)
class Measured:
    config: ServiceConfig
    measurement: Measurement

    @property
    def endpoint(self) -> str:
        return self.config.otlp_endpoint or ""

    @property
    def account(self) -> Path:
        """The file with the account of its spans."""
        return self.measurement.account_file(self.config) or Path()

    @property
    def resource(self) -> dict[str, str]:
        return resource(self.config, self.measurement)

    def telemetry(self, tracing: str) -> AbstractAsyncContextManager[Spans]:
        return telemetry(self.config, replace(self.measurement, tracing=tracing))


@pytest.fixture
def measured(free_address: str, tmp_path: Path) -> Measured:
    return Measured(
        ServiceConfig(component="product", instance="product-2", otlp_endpoint=f"http://{free_address}"),
        Measurement(topology="hybrid", trial="t1", telemetry_folder=str(tmp_path / "telemetry")),
    )


@pytest.fixture
async def collector(free_address: str) -> AsyncIterator[Collector]:
    collector = Collector()
    async with collector.listening(free_address):
        yield collector


def account_of(measured: Measured) -> dict[str, object]:
    return dict(json.loads(measured.account.read_bytes()))


def record(recorder: Recorder, spans: int, name: str = "work") -> None:
    for number in range(spans):
        RecordedSpan(recorder, f"{name} {number}", 0, CALLER).end()


async def until(holds: Callable[[], object]) -> None:
    """Waits until a condition is true; a file that it reads may not exist yet."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            with suppress(FileNotFoundError):
                if holds():
                    return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def exporting(
    measured: Measured, patience: Patience | None = None, **options: int
) -> AsyncIterator[tuple[Recorder, SpanAccount]]:
    recorder, account = Recorder(**options), SpanAccount(measured.account)
    async with SpanExporter(recorder, account, measured.endpoint, measured.resource, patience):
        yield recorder, account


async def test_all_spans_arrive_once_and_in_order(measured: Measured, collector: Collector) -> None:
    spans = 3 * BATCH_SPANS + SLICE_SPANS + 1
    async with exporting(measured) as (recorder, account):
        record(recorder, spans)
        await until(lambda: account.exported == spans)
    assert collector.names == [f"work {number}" for number in range(spans)]
    assert len(collector.requests) == 4
    assert (account.recorded, account.lost) == (spans, 0)


async def test_spans_wait_for_a_pause(measured: Measured, collector: Collector) -> None:
    async with exporting(measured, Patience(pause_s=0.5)) as (recorder, _):
        for _ in range(50):
            record(recorder, 1)
            await asyncio.sleep(0.01)
        waiting = len(recorder.waiting)
        await until(lambda: len(collector.names) == 50)
    assert waiting == 50


async def test_spans_that_soon_will_not_fit_wait_for_no_pause(measured: Measured, collector: Collector) -> None:
    async with exporting(measured, max_waiting=4 * BATCH_SPANS) as (recorder, _), asyncio.timeout(LIMIT_S):
        while not collector.requests:
            record(recorder, 5)
            await asyncio.sleep(0.001)
    assert recorder.lost == 0


async def test_a_collector_that_comes_late_gets_every_span(measured: Measured, free_address: str) -> None:
    collector = Collector()
    async with exporting(measured) as (recorder, account):
        record(recorder, BATCH_SPANS + 1)
        await until(lambda: len(recorder.waiting) == 1)  # the others are being sent
        await asyncio.sleep(0.5)
        async with collector.listening(free_address):
            await until(lambda: account.exported == BATCH_SPANS + 1)
    assert len(collector.names) == BATCH_SPANS + 1
    assert account.lost == 0


async def test_spans_that_wait_too_long_for_a_collector_are_lost_and_counted(
    measured: Measured, caplog: pytest.LogCaptureFixture
) -> None:
    async with exporting(measured, Patience(send_s=0.2)) as (recorder, _):
        record(recorder, 3)
        await until(lambda: "3 spans are lost: DEADLINE_EXCEEDED" in caplog.text)
        # Immediately, because readers of the account must learn of the loss while the process runs.
        assert account_of(measured)["lost"] == 3


async def test_a_busy_collector_is_asked_again(measured: Measured, collector: Collector) -> None:
    collector.answers = [refusing(grpc.StatusCode.UNAVAILABLE), refusing(grpc.StatusCode.RESOURCE_EXHAUSTED)]
    async with exporting(measured) as (recorder, account):
        record(recorder, 2)
        await until(lambda: collector.requests)
    assert collector.names == ["work 0", "work 1"]
    assert (account.exported, account.lost) == (2, 0)


@pytest.mark.parametrize(
    ("answer", "exported"), [(refusing(grpc.StatusCode.INVALID_ARGUMENT), 0), (rejecting_one, 2)], ids=["all", "one"]
)
async def test_refused_spans_are_lost_and_counted(
    answer: Answer, exported: int, measured: Measured, collector: Collector
) -> None:
    collector.answers = [answer]
    async with exporting(measured) as (recorder, account):
        record(recorder, 3)
        await until(lambda: account.lost)
    assert (account.recorded, account.exported, account.lost) == (3, exported, 3 - exported)


async def test_spans_that_did_not_fit_are_in_the_account(measured: Measured, collector: Collector) -> None:
    async with exporting(measured, max_waiting=2) as (recorder, _):
        record(recorder, 5)
        await until(lambda: collector.requests)
        await until(lambda: account_of(measured)["lost"])
        assert account_of(measured) == {"recorded": 5, "exported": 2, "lost": 3} | {
            name: account_of(measured)[name] for name in ("export_cpu_s", "cost_ns")
        }


async def test_waiting_spans_are_flushed_at_the_end(measured: Measured, collector: Collector) -> None:
    async with exporting(measured) as (recorder, account):
        record(recorder, BATCH_SPANS + 1)
    assert len(collector.names) == BATCH_SPANS + 1
    assert (account.exported, account.lost) == (BATCH_SPANS + 1, 0)


async def test_a_collector_that_hangs_does_not_hold_the_end_up(measured: Measured, collector: Collector) -> None:
    collector.answers = [hanging]
    async with exporting(measured, Patience(flush_s=0.2)) as (recorder, account):
        record(recorder, BATCH_SPANS + 1)
        await asyncio.wait_for(collector.asked.wait(), LIMIT_S)
    assert (account.recorded, account.exported, account.lost) == (BATCH_SPANS + 1, 0, BATCH_SPANS + 1)
    assert account_of(measured)["lost"] == BATCH_SPANS + 1


async def test_a_collector_that_hangs_does_not_hold_the_sdk_up(measured: Measured, collector: Collector) -> None:
    collector.answers = [hanging]
    account = SpanAccount(measured.account)
    async with asyncio.timeout(5):  # the SDK itself waits 10 s
        async with sdk.exporting(measured.endpoint, measured.resource, account, flush_s=0.2) as tracing:
            tracing.start("work", 0, CALLER).end()
    assert (account.recorded, account.exported, account.lost) == (1, 0, 1)
    assert account_of(measured)["lost"] == 1


async def test_the_account_is_settled_when_spans_stop_coming(measured: Measured, collector: Collector) -> None:
    async with exporting(measured, Patience(settled_s=0.05)) as (recorder, _):
        for spans in (2, 3):
            record(recorder, spans)
            await until(lambda: measured.account.exists())
            await until(lambda: account_of(measured)["recorded"] == account_of(measured)["exported"] == recorder.ended)


@pytest.mark.parametrize("answers", [[], [refusing(grpc.StatusCode.INVALID_ARGUMENT)]], ids=["taken", "refused"])
@pytest.mark.parametrize("tracing", TRACINGS)
async def test_a_process_accounts_for_its_spans_at_its_end(
    tracing: str, answers: list[Answer], measured: Measured, collector: Collector
) -> None:
    collector.answers = list(answers)
    async with measured.telemetry(tracing) as spans:
        with child_span("not traced"):
            pass
        with spans.below(CALLER), child_span("work"):
            pass
    taken = not answers
    assert collector.names == ["work"] * taken
    account = account_of(measured)
    assert (account["recorded"], account["exported"], account["lost"]) == (1, taken, not taken)
    assert isinstance(account["cost_ns"], dict)
    assert list(account["cost_ns"]) == ["SERVER", "CLIENT", "INTERNAL"]
    assert all(cost > 0 for cost in account["cost_ns"].values())


async def test_the_sdk_says_what_made_its_spans(measured: Measured, collector: Collector) -> None:
    async with measured.telemetry("sdk") as spans:
        with spans.below(CALLER), child_span("work"):
            pass
    [process] = collector.requests[0].resource_spans
    shown = {attribute.key: attribute.value.string_value for attribute in process.resource.attributes}
    assert shown.items() >= measured.resource.items()
