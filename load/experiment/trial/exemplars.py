"""The traces that stand for a run's p50 and p99, kept so that they can be looked at after the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from hops.errors import JaegerError
from hops.traces.jaeger import REQUEST_TIMEOUT_S

#: Journey -> percentile -> trace id.
Exemplars = Mapping[str, Mapping[str, str]]


def save(query_url: str, chosen: Exemplars, path: Path) -> None:
    """Copies traces from Jaeger to a file, one OTLP document a line, each trace once.

    Args:
        query_url: URL of Jaeger's query API.
        chosen: The traces.
        path: File for the documents.

    Raises:
        JaegerError: Jaeger did not answer.
    """
    ids = dict.fromkeys(trace_id for traces in chosen.values() for _, trace_id in sorted(traces.items()))
    documents = [json.dumps(_get(query_url, trace_id)) for trace_id in ids]
    path.write_text("".join(f"{document}\n" for document in documents), encoding="utf-8")


def load(path: Path, otlp_http_url: str) -> None:
    """Sends saved traces to a Jaeger that does not have them any more.

    Args:
        path: The file that `save` wrote.
        otlp_http_url: URL of Jaeger's OTLP receiver over HTTP.

    Raises:
        JaegerError: It did not take one.
    """
    headers = {"Content-Type": "application/json"}
    try:
        with httpx.Client(timeout=REQUEST_TIMEOUT_S, trust_env=False, headers=headers) as client:
            for line in path.read_text(encoding="utf-8").splitlines():
                client.post(f"{otlp_http_url}/v1/traces", content=line).raise_for_status()
    except httpx.HTTPError as error:
        raise JaegerError(f"Jaeger at {otlp_http_url} did not accept the saved traces: {error}") from error


def _get(query_url: str, trace_id: str) -> Any:
    try:
        response = httpx.get(
            f"{query_url}/api/v3/traces/{trace_id}", timeout=REQUEST_TIMEOUT_S, trust_env=False
        ).raise_for_status()
        return response.json()["result"]
    except (httpx.HTTPError, KeyError, ValueError) as error:
        raise JaegerError(f"Jaeger at {query_url} did not return trace {trace_id}: {error}") from error
