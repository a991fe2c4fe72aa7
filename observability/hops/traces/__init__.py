"""Spans from OTLP and Jaeger, as trees with a critical path."""
