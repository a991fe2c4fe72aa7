"""Sends spans to the collector in the pauses between requests, over OTLP and gRPC."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from recording.account import SpanAccount
from recording.lean.otlp import Batch
from recording.lean.recorder import Recorder

log = logging.getLogger(__name__)

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
# If there are no pauses, spans are exported once this share of the recorder's capacity is used.
PRESSED = 0.5
# Encoding a slice takes about 0.15 ms and may delay a request by this much; requests run between two slices.
SLICE_SPANS = 32
TURN_S = 0.001
BATCH_SPANS = 512
RETRIES = """{"methodConfig": [{"name": [{}], "retryPolicy": {
  "maxAttempts": 5, "initialBackoff": "0.2s", "maxBackoff": "5s", "backoffMultiplier": 2,
  "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}"""
OPTIONS = (
    ("grpc.service_config", RETRIES),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an exporter waits, in seconds.

    Attributes:
        pause_s: How long no span may start or end before the exporter assumes a pause. At 1,700 requests a second there
            are no pauses, so spans wait until the load is over.
        settled_s: How long the exporter waits for another span before it writes the account.
        send_s: How long gRPC tries to reach a collector that is unavailable; after that, the batch is lost.
        flush_s: How long the exporter waits for the collector at the end of the process.
    """

    pause_s: float = 0.02
    settled_s: float = 1.0
    send_s: float = 60.0
    flush_s: float = 3.0


class SpanExporter:
    """Exports a recorder's spans for as long as the context lasts, and all remaining spans at its end."""

    def __init__(
        self,
        recorder: Recorder,
        account: SpanAccount,
        endpoint: str,
        resource: Mapping[str, str],
        patience: Patience | None = None,
    ) -> None:
        self._recorder = recorder
        self._account = account
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._resource = resource
        self._seen = (0, 0)
        self._in_hand = 0
        self._refused = 0
        self._work = asyncio.Event()
        self._closing = False

    async def __aenter__(self) -> SpanExporter:
        self._recorder.wake = self._work.set
        self._channel = _channel(self._endpoint)
        self._export: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(METHOD)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._closing = True
        self._work.set()
        try:
            async with asyncio.timeout(self._patience.flush_s):
                await self._task
        except TimeoutError:
            self._refuse(
                self._in_hand + len(self._recorder.waiting),
                f"the collector did not accept them within {self._patience.flush_s:g} s at the end",
            )
            self._recorder.waiting.clear()
        self._settle()
        await self._channel.close()

    async def _run(self) -> None:
        while await self._any():
            batch = await self._batch()
            await self._send(batch)

    async def _any(self) -> bool:
        """Waits for spans; returns False at the end of the process if there are none."""
        while not self._recorder.waiting:
            if self._closing:
                return False
            self._work.clear()
            settled = self._account.recorded == self._recorder.ended
            with suppress(TimeoutError):
                async with asyncio.timeout(None if settled else self._patience.settled_s):
                    await self._work.wait()
                continue
            self._settle()
        return True

    async def _batch(self) -> Batch:
        batch = Batch(self._resource)
        waiting = self._recorder.waiting
        while waiting and len(batch) < BATCH_SPANS:
            await self._pause()
            began = time.thread_time()
            for _ in range(min(SLICE_SPANS, len(waiting))):
                batch.add(waiting.popleft())
            self._account.export_cpu_s += time.thread_time() - began
            self._in_hand = len(batch)
            await asyncio.sleep(0 if self._closing else TURN_S)
        return batch

    async def _pause(self) -> None:
        """Returns in a pause between requests, or when the spans cannot wait any longer."""
        recorder = self._recorder
        pressed = recorder.max_waiting * PRESSED
        while not self._closing and len(recorder.waiting) < pressed:
            seen, self._seen = self._seen, (recorder.started, recorder.ended)
            if seen == self._seen:
                return
            await asyncio.sleep(self._patience.pause_s)

    async def _send(self, batch: Batch) -> None:
        began = time.thread_time()
        message = batch.message.SerializeToString()
        self._account.export_cpu_s += time.thread_time() - began
        try:
            answer = await self._export(message, timeout=self._patience.send_s, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            self._refuse(len(batch), f"{error.code().name}: {error.details()}")
        else:
            partial = ExportTraceServiceResponse.FromString(answer).partial_success
            self._account.exported += len(batch) - partial.rejected_spans
            if partial.rejected_spans:
                self._refuse(partial.rejected_spans, partial.error_message)
        self._in_hand = 0
        if self._refused + self._recorder.lost > self._account.lost:
            self._settle()

    def _refuse(self, spans: int, cause: str) -> None:
        self._refused += spans
        log.warning("%d spans are lost: %s", spans, cause)

    def _settle(self) -> None:
        """Updates the account."""
        self._account.recorded = self._recorder.ended
        self._account.lost = self._refused + self._recorder.lost
        self._account.write()


def _channel(endpoint: str) -> grpc.aio.Channel:
    url = urlsplit(endpoint)
    if url.scheme == "https":
        return grpc.aio.secure_channel(url.netloc, grpc.ssl_channel_credentials(), options=OPTIONS)
    return grpc.aio.insecure_channel(url.netloc, options=OPTIONS)
