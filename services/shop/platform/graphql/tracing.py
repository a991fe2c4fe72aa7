"""Adds GraphQL details to a request's span and metrics: path and status say nothing about operations and errors."""

from __future__ import annotations

from graphql import OperationDefinitionNode
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from shop.platform.error_codes import SERVER_FAULTS
from shop.platform.graphql.limits import first_field, name_of
from shop.platform.telemetry.metering import add_details


def name_operation(operation: OperationDefinitionNode) -> None:
    """Records the operation that a request runs: on the request's span, and in the metrics by its first field."""
    add_details(operation=first_field(operation))
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("graphql.operation.type", operation.operation.value)
        if name := name_of(operation):
            span.set_attribute("graphql.operation.name", name[:100])


def note_error(code: str) -> None:
    """Records the error in an answer on the request's span, as `incoming.note_failure` does for other protocols."""
    if code in SERVER_FAULTS:
        add_details(error=code)
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("error.type", code)
        if code in SERVER_FAULTS:
            span.set_status(StatusCode.ERROR)
