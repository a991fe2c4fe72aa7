"""What a request's span and its metrics say of GraphQL, as neither its path nor its status does."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import StatusCode

from shop.platform.errors import SERVER_FAULTS
from shop.platform.telemetry.metering import tell

_SERVER_FAULTS = frozenset(code.value for code in SERVER_FAULTS)


def name_operation(kind: str, name: str) -> None:
    """Records on the request's span which GraphQL operation it runs.

    Args:
        kind: "query", "mutation" or "subscription".
        name: The operation's name; empty if it has none.
    """
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("graphql.operation.type", kind)
        if name:
            span.set_attribute("graphql.operation.name", name[:100])


def note_error(code: str) -> None:
    """Records on the request's span the error of its answer."""
    if code in _SERVER_FAULTS:
        tell(error=code)
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("error.type", code)
        if code in _SERVER_FAULTS:
            span.set_status(StatusCode.ERROR)
