"""Reads whole traces from Jaeger's query API (`/api/v3`: OTLP JSON, which keeps nanoseconds)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from operator import not_
from typing import Any

import aiohttp
import tenacity

from hops.errors import JaegerError, MalformedTraceError
from hops.traces.otlp import read_spans
from hops.traces.span import Span
from hops.traces.tree import grow
from hops.traces.typed_json import NotJsonError

CONCURRENCY = 8
REQUEST_TIMEOUT_S = 10.0
PATIENCE_S = 15.0

_TRANSPORT_ERRORS = (aiohttp.ClientError, TimeoutError)
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")


def is_complete(spans: list[Span]) -> bool:
    """Whether a trace has a root, no orphan, and a SERVER span for every call."""
    return grow(spans).quality.complete


def read_traces(
    base_url: str,
    trace_ids: Iterable[str],
    *,
    patience_s: float = PATIENCE_S,
    complete: Callable[[list[Span]], bool] = is_complete,
) -> dict[str, list[Span]]:
    """Reads traces by id, and polls until they are complete.

    Args:
        trace_ids: 32 hex digits each; an id given twice is read once.
        patience_s: Time limit for all requests together; after it, the function returns what has arrived. Every trace
            is requested at least once.

    Returns:
        The traces that Jaeger had at the end of the wait, in the order of `trace_ids`.

    Raises:
        JaegerError: An id is malformed; or Jaeger did not answer, or answered with an error or not in OTLP JSON.
    """
    ids = list(dict.fromkeys(map(_check, trace_ids)))
    return asyncio.run(_fetch_traces(base_url, ids, patience_s, complete))


async def _fetch_traces(
    base_url: str, ids: list[str], patience_s: float, complete: Callable[[list[Span]], bool]
) -> dict[str, list[Span]]:
    deadline = time.monotonic() + patience_s
    traces: dict[str, list[Span]] = {}
    sound: set[str] = set()
    slots = asyncio.Semaphore(CONCURRENCY)

    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S), connector=aiohttp.TCPConnector(limit=CONCURRENCY)
    ) as client:

        async def look(trace_id: str) -> None:
            async with slots:
                spans = await _get(client, f"{base_url.rstrip('/')}/api/v3/traces/{trace_id}")
            if spans:
                traces[trace_id] = spans
                if complete(spans):
                    sound.add(trace_id)

        async def round_over_the_rest() -> bool:
            async with asyncio.TaskGroup() as group:
                for trace_id in ids:
                    if trace_id not in sound:
                        group.create_task(look(trace_id))
            return len(sound) == len(ids)

        # Traces are read in rounds, not in a loop per trace: a trace that never becomes complete must not delay all
        # others.
        rounds = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(not_) | tenacity.retry_if_exception(_is_transport),
            stop=lambda _state: time.monotonic() >= deadline,
            wait=tenacity.wait_exponential(multiplier=0.1, max=2.0),
            retry_error_callback=_last_outcome,
        )
        try:
            await rounds(round_over_the_rest)
        except ExceptionGroup as group:
            first: BaseException = group
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            if isinstance(first, _TRANSPORT_ERRORS):
                reason = str(first) or type(first).__name__
                raise JaegerError(
                    f"Jaeger's query API at {base_url} did not answer within {patience_s:g} s: {reason}"
                ) from first
            raise first from None

    return {trace_id: traces[trace_id] for trace_id in ids if trace_id in traces}


async def _get(client: aiohttp.ClientSession, url: str) -> list[Span]:
    async with client.get(url) as response:
        body = await response.read()
    if response.status == HTTPStatus.NOT_FOUND:
        return []
    if response.status != HTTPStatus.OK:
        text = body.decode(errors="replace")[:200].strip() or "no body"
        raise JaegerError(f"{url} answered {response.status}: {text}")
    try:
        return read_spans(body, where=url)
    except NotJsonError as error:
        raise JaegerError(f"{url} did not answer with JSON; is it Jaeger's query API?") from error
    except MalformedTraceError as error:
        raise JaegerError(f"this answer is not a trace: {error}") from error


def _check(trace_id: str) -> str:
    if not _TRACE_ID.fullmatch(trace_id):
        raise JaegerError(f"{trace_id!r} is not a trace id of 32 hex digits")
    return trace_id.lower()


def _is_transport(error: BaseException) -> bool:
    return isinstance(error, ExceptionGroup) and error.subgroup(_TRANSPORT_ERRORS) is not None


def _last_outcome(state: tenacity.RetryCallState) -> Any:
    # Out of patience: raises the error of the last round, or keeps the traces as they are.
    assert state.outcome is not None
    return state.outcome.result()
