"""Jaeger: the trace store, and its own counts of the spans that it received."""

from __future__ import annotations

import http.client
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mesh.description.places import Places
from mesh.description.ports import HOST, Ports
from mesh.errors import StartError
from mesh.paths import JAEGER_CONFIG, JAEGER_PAGE, REPORT_STYLE, RunFolder, jaeger, jaeger_has_pages, jaeger_pages
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import http_ok

JAEGER = "jaeger"


@dataclass(frozen=True)
class SpanCounts:
    """Counts of the spans that have reached Jaeger since it started.

    Attributes:
        accepted: Spans that its receivers accepted.
        refused: Spans that its receivers refused, or lost on the way; their senders got an error.
        stored: Spans that it wrote to its store.
        failed: Spans that it accepted but could not write to its store.
    """

    accepted: int
    refused: int
    stored: int
    failed: int

    @property
    def lost(self) -> int:
        """Spans that arrived but cannot be read."""
        return self.refused + self.failed


def jaeger_component(ports: Ports, environ: Mapping[str, str], folder: RunFolder) -> Component:
    """What to run for Jaeger; without a UI, it serves our page from the run's folder.

    Raises:
        NotInstalledError: There is no Jaeger program, or no UI where `JAEGER_UI` names one.
    """
    program, pages = jaeger(environ), jaeger_pages(environ)
    # An earlier run may have left its exemplars there.
    shutil.rmtree(folder.jaeger_page, ignore_errors=True)
    if pages is None and not jaeger_has_pages(program, environ):
        pages = folder.jaeger_page
        shutil.copytree(JAEGER_PAGE, pages)
        shutil.copy(REPORT_STYLE, pages / "static")
    return Component(
        JAEGER,
        argv=lambda: [str(program), f"--config=file:{JAEGER_CONFIG}"],
        env=jaeger_environment(ports, ports.offsets) | {"JAEGER_PAGES": str(pages or "")},
        ready=http_ok(ports["jaeger-health"], "/status"),
        stop_rank=STORE_RANK,
    )


def jaeger_environment(places: Places, names: Iterable[str]) -> dict[str, str]:
    """Jaeger's settings; `names` are those of all ports."""
    metrics = places.listens("jaeger-metrics")
    return {
        **{name.replace("-", "_").upper(): str(places.listens(name)) for name in names if _is_jaegers(name)},
        "JAEGER_METRICS_HOST": metrics.host,
        "JAEGER_METRICS_PORT": str(metrics.port),
        # Otherwise Jaeger sends its own traces to port 4317, where nothing listens, and waits 10 s for that when it
        # stops.
        "OTEL_TRACES_SAMPLER": "always_off",
        # More memory saves CPU time under load: a span costs 7 µs to receive and store instead of 9. The limit is well
        # above the memory that a long run needs.
        "GOGC": "400",
        "GOMEMLIMIT": "1GiB",
    }


def jaeger_ports(ports: Ports) -> list[str]:
    """Names of the ports that Jaeger listens on."""
    return [name for name in ports.offsets if _is_jaegers(name)]


def _is_jaegers(name: str) -> bool:
    return name.startswith(f"{JAEGER}-")


def span_counts(ports: Ports) -> SpanCounts:
    """Asks a running Jaeger for its counters; raises a StartError if it does not answer."""
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
    """Reads the counters out of Jaeger's metrics page (Prometheus text format)."""
    return SpanCounts(
        accepted=_sum(text, "otelcol_receiver_accepted_spans"),
        refused=_sum(text, "otelcol_receiver_refused_spans") + _sum(text, "otelcol_receiver_failed_spans"),
        stored=_sum(text, "otelcol_exporter_sent_spans"),
        failed=_sum(text, "otelcol_exporter_send_failed_spans"),
    )


def _sum(text: str, name: str) -> int:
    pattern = re.compile(rf"^{name}(?:_total)?(?:{{[^}}]*}})? (\S+)$", re.MULTILINE)
    return sum(int(float(value)) for value in pattern.findall(text))
