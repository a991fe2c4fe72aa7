"""Jaeger: the trace store, and its own count of the spans that came in."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mesh.errors import StartError
from mesh.paths import JAEGER_CONFIG, jaeger
from mesh.ports import HOST, Ports
from mesh.processes import Component
from mesh.readiness import http_ok

JAEGER = "jaeger"
PORTS = (
    "jaeger-otlp-grpc",
    "jaeger-otlp-http",
    "jaeger-query-http",
    "jaeger-query-grpc",
    "jaeger-health",
    "jaeger-metrics",
)


@dataclass(frozen=True)
class SpanCounts:
    """What Jaeger has done with spans since it started.

    Attributes:
        accepted: taken in by its receivers.
        refused: not taken in, or failed on the way; their senders were told.
        stored: written to its store.
        failed: taken in, but not written to its store.
    """

    accepted: int
    refused: int
    stored: int
    failed: int


def jaeger_component(ports: Ports, environ: Mapping[str, str]) -> Component:
    """What to run for Jaeger.

    Args:
        ports: of the run.
        environ: `JAEGER_BIN` is read from it.

    Raises:
        NotInstalledError: there is no Jaeger program.
    """
    program = jaeger(environ)
    env = {
        "JAEGER_OTLP_GRPC": ports.address("jaeger-otlp-grpc"),
        "JAEGER_OTLP_HTTP": ports.address("jaeger-otlp-http"),
        "JAEGER_QUERY_HTTP": ports.address("jaeger-query-http"),
        "JAEGER_QUERY_GRPC": ports.address("jaeger-query-grpc"),
        "JAEGER_HEALTH": ports.address("jaeger-health"),
        "JAEGER_METRICS_PORT": str(ports["jaeger-metrics"]),
        # Jaeger would trace itself to port 4317, where it is not, and wait 10 s for that at its end.
        "OTEL_TRACES_SAMPLER": "always_off",
        # A bound for the collector's garbage, well above what a long run keeps.
        "GOMEMLIMIT": "1GiB",
    }
    return Component(
        JAEGER,
        argv=lambda: [str(program), f"--config=file:{JAEGER_CONFIG}"],
        env=env,
        ready=http_ok(ports["jaeger-health"], "/status"),
        stop_rank=9,
    )


def span_counts(ports: Ports) -> SpanCounts:
    """Ask a running Jaeger for its counters.

    Raises:
        StartError: it does not answer.
    """
    connection = http.client.HTTPConnection(HOST, ports["jaeger-metrics"], timeout=5)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise StartError(f"Jaeger does not answer at {ports.url('jaeger-metrics')}/metrics: {error}") from error
    finally:
        connection.close()
    return parse_span_counts(text)


def parse_span_counts(text: str) -> SpanCounts:
    """Read the counters out of Jaeger's metrics page (Prometheus text format)."""
    return SpanCounts(
        accepted=_sum(text, "otelcol_receiver_accepted_spans"),
        refused=_sum(text, "otelcol_receiver_refused_spans") + _sum(text, "otelcol_receiver_failed_spans"),
        stored=_sum(text, "otelcol_exporter_sent_spans"),
        failed=_sum(text, "otelcol_exporter_send_failed_spans"),
    )


def _sum(text: str, name: str) -> int:
    pattern = re.compile(rf"^{name}(?:_total)?(?:{{[^}}]*}})? (\S+)$", re.MULTILINE)
    return sum(int(float(value)) for value in pattern.findall(text))
