"""Saves a run's exemplars, the traces nearest to p50 and p99, so that users can view them after the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from hops.errors import JaegerError
from hops.traces.jaeger import REQUEST_TIMEOUT_S

Exemplars = Mapping[str, Mapping[str, str]]
"""Journey -> percentile -> trace id."""


def save(query_url: str, chosen: Exemplars, path: Path) -> None:
    """Copies traces from Jaeger to a file, each once, one OTLP document per line; raises JaegerError if that fails."""
    ids = dict.fromkeys(trace_id for traces in chosen.values() for _, trace_id in sorted(traces.items()))
    documents = []
    with _connect(query_url) as jaeger:
        for trace_id in ids:
            try:
                body = _answer(jaeger, "GET", f"/api/v3/traces/{trace_id}")
                documents.append(json.dumps(json.loads(body)["result"]))
            except (OSError, HTTPException, KeyError, ValueError) as error:
                raise JaegerError(f"Jaeger at {query_url} did not return trace {trace_id}: {error}") from error
    path.write_text("".join(f"{document}\n" for document in documents), encoding="utf-8")


def load(path: Path, otlp_http_url: str, copied: Callable[[bytes], bytes] = bytes) -> None:
    """Sends saved traces, or what `copied` makes of each, to a Jaeger; raises JaegerError if it does not accept one."""
    with _connect(otlp_http_url) as jaeger:
        for line in path.read_bytes().splitlines():
            try:
                _answer(jaeger, "POST", "/v1/traces", copied(line))
            except (OSError, HTTPException) as error:
                raise JaegerError(f"Jaeger at {otlp_http_url} did not accept the saved traces: {error}") from error


def _connect(url: str) -> closing[HTTPConnection]:
    return closing(HTTPConnection(urlsplit(url).netloc, timeout=REQUEST_TIMEOUT_S))


def _answer(jaeger: HTTPConnection, method: str, path: str, document: bytes | None = None) -> bytes:
    jaeger.request(method, path, document, {"Content-Type": "application/json"} if document else {})
    response = jaeger.getresponse()
    body = response.read()
    if response.status != HTTPStatus.OK:
        raise HTTPException(f"{method} {path} answered {response.status} {response.reason}")
    return body
