"""Reads the traces that a target recorded under load, and joins them with the load generator's spans by trace id."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from experiment.errors import UsageError
from experiment.own_target.file import HERE
from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.parts import GENERATOR, Budget
from hops.errors import SourceError
from hops.gates.target_traces import TargetTraces, look_at
from hops.sources.http import NotFoundError
from hops.sources.query import Query, answers, api_at, services_of
from hops.traces.span import Span, by_trace
from hops.traces.tree import Quality
from hops.traces.write_otlp import otlp_document
from mesh.description.ports import Ports

LIMIT_S, LOOK_S = 60.0, 1.0
BATCH = 100
"""Number of traces to read between two checks of the time limit."""
MAX_UNREQUESTED = 2_000
"""Maximum number of unrequested traces to count, because each of them is read completely."""
QUIET_S = 7.0
"""Traces count as complete once no span has arrived for this time; OpenTelemetry's SDKs send a batch every 5 s."""


Traces = Mapping[str, Sequence[Span]]
"""Spans by trace id, including the load generator's spans."""


def require_store(where: str) -> None:
    """Raises UsageError, which says what was tried, if no Jaeger, Tempo or Zipkin answers at an address."""
    try:
        api_at(where, Query())
    except SourceError as error:
        raise UsageError(f"traces: {error}") from error


def read_target_traces(
    sources: Sequence[str],
    trace_ids: Collection[str],
    *,
    limit_s: float = LIMIT_S,
    say: Callable[[str], None] = lambda _: None,
) -> Traces:
    """Reads traces by id until no more spans arrive.

    Args:
        sources: Query API addresses of the stores with the target's spans and with the load generator's spans.

    Raises:
        HopsError: A store did not answer.
    """
    spans: dict[str, dict[str, list[Span]]] = {trace_id: {} for trace_id in trace_ids}
    began = changed = time.monotonic()
    before, asked, ids = 0, 0, list(spans)
    batches = [tuple(ids[start : start + BATCH]) for start in range(0, len(ids), BATCH)]
    while True:
        for number, batch in enumerate(batches, start=1):
            if time.monotonic() - began >= limit_s:
                break
            for source in sources:
                for answer in answers(source, "", Query(trace_ids=batch)):
                    with suppress(NotFoundError):
                        for trace_id, part in by_trace(span for _, some in answer.batches for span in some).items():
                            if trace_id in spans:  # a store that keeps half of an id may return another trace's spans
                                spans[trace_id][source] = part
            asked = max(asked, number)
        count, now = sum(len(part) for own in spans.values() for part in own.values()), time.monotonic()
        if count != before:
            before, changed = count, now
        if now - changed >= QUIET_S or now - began >= limit_s:
            break
        time.sleep(LOOK_S)
    if (unread := len(ids) - BATCH * asked) > 0:
        say(f"{unread} of {len(ids)} traces could not be read within {limit_s:g} s; give a smaller trace=")
    return {trace_id: [span for part in own.values() for span in part] for trace_id, own in spans.items() if own}


def count_unrequested(store: str, requested: Collection[str], since_ns: int, until_ns: int) -> int:
    """Counts the traces that a target recorded unrequested, because its sampler ignores the caller's decision.

    Args:
        since_ns: When the load began, Unix time, ns.
        until_ns: When the load ended, Unix time, ns.

    Raises:
        HopsError: Jaeger did not answer.
    """
    recorded: set[str] = set()
    for service in services_of(store, {}):
        if service == GENERATOR:
            continue
        query = Query(service=service, since_ns=since_ns, until_ns=until_ns, limit=len(requested) + MAX_UNREQUESTED)
        for answer in answers(store, "", query):
            with suppress(NotFoundError):  # no traces within that time
                recorded |= {span.trace_id for _, batch in answer.batches for span in batch}
    return min(len(recorded - set(requested)), MAX_UNREQUESTED)


def stores_of(traces: str, otlp: str, ports: Ports) -> tuple[str, ...]:
    """Returns the addresses of the stores that hold a run's spans, both the target's and the load generator's.

    Args:
        traces: `here` or an address, as in the target file; empty if no traces are read.
        otlp: Receiver of the load generator's spans; empty if they go to the run's own Jaeger.
    """
    own = ports.url("jaeger-query-http")
    if not traces:
        return ()
    if traces == HERE:
        return (own,)
    return (traces,) if otlp else (own, traces)


def write_traces(traces: Iterable[Sequence[Span]], path: Path) -> None:
    """Writes traces to a file, one OTLP document per line; a trace that occurs twice is written once."""
    documents = {spans[0].trace_id: json.dumps(otlp_document(spans)) for spans in traces}
    path.write_text("".join(f"{document}\n" for document in documents.values()), encoding="utf-8")


def budgets_of_target(traces: Traces) -> tuple[list[Budget], Quality, TargetTraces]:
    """Computes the hop budgets of a target's traces, the traces' quality, and what the traces lack."""
    trees = [tree_of(spans) for spans in traces.values()]
    quality = Quality()
    for tree in trees:
        quality.add(tree.quality)
    return [budget for tree in trees if (budget := budget_of_any(tree, with_paths=True))], quality, look_at(trees)
