"""The traces that stand for a run's p50 and p99, kept so that they can be looked at after the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from hops.errors import JaegerError
from hops.traces.jaeger import REQUEST_TIMEOUT_S

#: Journey -> percentile -> trace id.
Exemplars = Mapping[str, Mapping[str, str]]


def save(query_url: str, chosen: Exemplars, path: Path) -> None:
    """Copies traces from Jaeger to a file, one OTLP document a line.

    Args:
        query_url: Of Jaeger's query API.
        chosen: Which traces.
        path: Where they go.

    Raises:
        JaegerError: Jaeger did not answer.
    """
    documents = [json.dumps(_get(query_url, trace_id)) for trace_id in ids(chosen)]
    path.write_text("".join(f"{document}\n" for document in documents), encoding="utf-8")


def load(path: Path, otlp_http_url: str) -> int:
    """Sends saved traces to a Jaeger that does not have them any more.

    Args:
        path: What `save` wrote.
        otlp_http_url: Of its OTLP receiver over HTTP.

    Returns:
        How many documents it took.

    Raises:
        JaegerError: It did not take one.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        with httpx.Client(timeout=REQUEST_TIMEOUT_S, trust_env=False) as client:
            for line in lines:
                client.post(
                    f"{otlp_http_url}/v1/traces", content=line, headers={"Content-Type": "application/json"}
                ).raise_for_status()
    except httpx.HTTPError as error:
        raise JaegerError(f"Jaeger at {otlp_http_url} did not take the saved traces: {error}") from error
    return len(lines)


def ids(chosen: Exemplars) -> list[str]:
    """Returns the trace ids, each once, in the order of their journeys."""
    return list(dict.fromkeys(trace_id for traces in chosen.values() for trace_id in _values(traces)))


def _values(traces: Mapping[str, str]) -> Iterable[str]:
    return (traces[name] for name in sorted(traces))


def _get(query_url: str, trace_id: str) -> Any:
    try:
        response = httpx.get(
            f"{query_url}/api/v3/traces/{trace_id}", timeout=REQUEST_TIMEOUT_S, trust_env=False
        ).raise_for_status()
        return response.json()["result"]
    except (httpx.HTTPError, KeyError, ValueError) as error:
        raise JaegerError(f"Jaeger at {query_url} did not give back trace {trace_id}: {error}") from error
