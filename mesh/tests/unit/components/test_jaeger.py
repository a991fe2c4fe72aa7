from __future__ import annotations

from mesh.components.jaeger import SpanCounts, parse_span_counts

PAGE = """\
# HELP otelcol_receiver_accepted_spans_total Number of spans successfully pushed into the pipeline.
# TYPE otelcol_receiver_accepted_spans_total counter
otelcol_receiver_accepted_spans_total{receiver="otlp",transport="grpc"} 1200
otelcol_receiver_accepted_spans_total{receiver="otlp",transport="http"} 34
otelcol_receiver_refused_spans_total{receiver="otlp",transport="grpc"} 5
otelcol_receiver_failed_spans_total{receiver="otlp",transport="grpc"} 1
otelcol_exporter_sent_spans_total{exporter="jaeger_storage_exporter"} 1.232e+03
otelcol_exporter_send_failed_spans_total{exporter="jaeger_storage_exporter"} 2
"""


def test_counters_are_summed_over_receivers() -> None:
    assert parse_span_counts(PAGE) == SpanCounts(accepted=1234, refused=6, stored=1232, failed=2)


def test_names_without_the_suffix_are_read_too() -> None:
    assert parse_span_counts(PAGE.replace("_total{", "{")).accepted == 1234


def test_no_span_yet() -> None:
    assert parse_span_counts("# nothing\n") == SpanCounts(0, 0, 0, 0)
