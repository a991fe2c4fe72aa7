"""A process's metrics, which follow OpenTelemetry's conventions, in Prometheus' formats.

The names are the conventions' names as Prometheus writes them: dots become underscores, and a time's name ends with its
unit (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/). Names without a convention
begin with `shop`.

The library is imported where metrics are made, so that a process without metrics does not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import Gauge, Histogram

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Bounds of the buckets for requests and calls, as the conventions advise."""
SHORT_BUCKETS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
"""Bounds of the buckets for parts of requests and calls, as the conventions advise for statements."""


class Timing:
    """A histogram of durations."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._series: dict[tuple[str, ...], Histogram] = {}

    def note(self, values: tuple[str, ...], seconds: float, trace_id: str = "") -> None:
        """Counts one duration, with the id in hexadecimal digits of the trace that shows it; empty for no trace."""
        series = self._series.get(values)
        if series is None:
            series = self._histogram.labels(*values) if values else self._histogram
            self._series[values] = series
        series.observe(seconds, {"trace_id": trace_id} if trace_id else None)


class Meters:
    """All metrics of a process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter
        from prometheus_client.gc_collector import GCCollector
        from prometheus_client.process_collector import ProcessCollector

        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._gauges: dict[str, Gauge] = {}
        status = ("http.response.status_code", "error.type")
        self.http_server = self._timing(
            "http.server.request.duration",
            "HTTP requests that were answered.",
            ("http.request.method", "http.route", "shop.operation", *status),
        )
        self.http_client = self._timing(
            "http.client.request.duration",
            "HTTP requests to other components.",
            ("http.request.method", "server.address", "shop.operation", *status),
        )
        rpc = ("rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type")
        self.rpc_server = self._timing("rpc.server.call.duration", "Calls that were answered.", rpc)
        self.rpc_client = self._timing("rpc.client.call.duration", "Calls to other components.", rpc)
        self.statements = self._timing(
            "db.client.operation.duration",
            "Database statements.",
            ("db.system.name", "db.query.summary", "error.type"),
            SHORT_BUCKETS_S,
        )
        pool = ("db.client.connection.pool.name",)
        self.waits = self._timing(
            "db.client.connection.wait_time", "Waits for a connection from the pool.", pool, SHORT_BUCKETS_S
        )
        self.uses = self._timing(
            "db.client.connection.use_time", "Time from lending a connection to its return.", pool, SHORT_BUCKETS_S
        )
        self.timeouts = Counter(
            prometheus_name("db.client.connection.timeouts"),
            "Waits for a connection that timed out.",
            [prometheus_name(name) for name in pool],
            registry=self.registry,
        )
        self.loop_delay = self._timing(
            "shop.event_loop.delay", "Delay of the event loop: how late it runs due work.", ()
        )

    def gauge(
        self,
        name: str,
        about: str,
        read: Callable[[], float],
        *,
        unit: str = "",
        attributes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Adds a value that is read at each scrape.

        Args:
            name: Name in the conventions, without the unit.
            read: Reads the value; called on another thread.
            unit: Unit of the value, "seconds"; empty for a number of things.
        """
        from prometheus_client import Gauge

        gauge = self._gauges.get(name)
        if gauge is None:
            labels = map(prometheus_name, attributes)
            gauge = self._gauges[name] = Gauge(prometheus_name(name), about, labels, unit=unit, registry=self.registry)
        (gauge.labels(*attributes.values()) if attributes else gauge).set_function(read)

    def _timing(self, name: str, about: str, attributes: Sequence[str], buckets: Sequence[float] = BUCKETS_S) -> Timing:
        from prometheus_client import Histogram

        labels = map(prometheus_name, attributes)
        name = prometheus_name(name)
        return Timing(Histogram(name, about, labels, unit="seconds", registry=self.registry, buckets=buckets))


def prometheus_name(name: str) -> str:
    return name.replace(".", "_")
