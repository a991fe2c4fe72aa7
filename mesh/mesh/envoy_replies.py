"""Envoy's own answers, at the edge and in sidecars: the mappers of its `local_reply_config`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from mesh.description.replies import AWAY, GRAPHQL, GRAPHQL_TYPE, LATE, Reply

UNSENT = "x-hopwise-unsent"
"""Header field with which a callee's sidecar says that the request did not reach the callee. The caller's sidecar
removes it."""
RETRIED_UNSENT: Mapping[str, Any] = {
    "retry_on": "connect-failure,refused-stream,retriable-headers",
    "retriable_headers": [{"name": UNSENT, "present_match": True}],
}
"""Retries of requests that reached no instance; such retries are safe for every method."""
OVERWRITE = "OVERWRITE_IF_EXISTS_OR_ADD"
DETAILS = "grpc-status-details-bin"
_CALLS_GRPC = (
    {"header_filter": {"header": {"name": "content-type", "string_match": {"prefix": "application/grpc"}}}},
    # The transcoder adds this header to its calls, whose clients sent JSON; clients cannot send the header.
    {"header_filter": {"header": {"name": "x-envoy-original-method", "present_match": False}}},
)


def path(regex: str) -> dict[str, Any]:
    """Filters requests by their whole path."""
    return {"header_filter": {"header": {"name": ":path", "string_match": {"safe_regex": {"regex": regex}}}}}


_ASKS_GRAPHQL = (path(f"{GRAPHQL}([/?].*)?"),)
_ACCEPTS_GRAPHQL = {"header_filter": {"header": {"name": "accept", "string_match": {"contains": GRAPHQL_TYPE}}}}


def mappers_of(reply: Reply) -> Iterator[dict[str, Any]]:
    """Yields the mappers for a reply; the first mapper that matches a request wins."""
    yield of_call(reply)
    for asked, body in shapes(reply):
        yield mapper(reply, asked, body)


def shapes(reply: Reply) -> Iterator[tuple[Sequence[Mapping[str, Any]], dict[str, Any]]]:
    """Yields the body for each kind of HTTP client, with the filters that select this kind."""
    errors = {"errors": [{"message": reply.detail, "extensions": reply.extensions}]}
    yield [*_ASKS_GRAPHQL, _ACCEPTS_GRAPHQL], {"content_type": GRAPHQL_TYPE, "json_format": errors}
    yield _ASKS_GRAPHQL, {"content_type": "application/json", "json_format": errors}
    problem = {
        "type": reply.type,
        "title": reply.title,
        "status": "%RESPONSE_CODE%",
        "detail": reply.detail,
        "instance": "%PATH(NQ)%",
        "code": reply.code,
    }
    yield (), {"content_type": "application/problem+json", "json_format": problem, "omit_empty_values": True}


def mapper(
    reply: Reply, asked: Sequence[Mapping[str, Any]], body: Mapping[str, Any], *headers: Mapping[str, Any]
) -> dict[str, Any]:
    """Renders a reply over HTTP, with more headers; `asked` filters the requests that the reply answers."""
    again = [header("retry-after", str(reply.retry_after_s))] if reply.retry_after_s else []
    return {
        "filter": {"and_filter": {"filters": [*asked, *_within(reply)]}},
        "body_format_override": body,
        "headers_to_add": [NO_STORE, *again, *headers],
        **({"status_code": reply.status} if reply.status else {}),
    }


def of_call(reply: Reply) -> dict[str, Any]:
    """Renders a reply over gRPC."""
    again = [header(DETAILS, reply.grpc_details)] if reply.grpc_details else []
    return {
        "filter": {"and_filter": {"filters": [*_CALLS_GRPC, *_within(reply)]}},
        "headers_to_add": [header("grpc-status", str(reply.grpc_status)), *again],
        "body_format_override": {"text_format_source": {"inline_string": reply.detail}},
        **({"status_code": reply.status} if reply.status else {}),
    }


@cache
def _within(reply: Reply) -> Sequence[Mapping[str, Any]]:
    return [_status("GE", reply.min_status), _status("LE", reply.max_status)]


def header(name: str, value: str, action: str = OVERWRITE) -> dict[str, Any]:
    """Renders a header that Envoy adds."""
    return {"header": {"key": name, "value": value}, "append_action": action}


NO_STORE = header("cache-control", "no-store")


def _status(op: str, value: int) -> dict[str, Any]:
    # Envoy requires a runtime key by which the number could be changed.
    comparison = {"op": op, "value": {"default_value": value, "runtime_key": f"edge.reply.{value}"}}
    return {"status_code_filter": {"comparison": comparison}}


def sidecar_replies(*, inbound: bool) -> dict[str, Any]:
    """Renders the `local_reply_config` of a sidecar. Over gRPC, Envoy's own status is enough.

    With `inbound`, it answers its own component's callers, and marks requests that did not reach the component.
    """
    # UF: no connection could be opened, so nothing was sent.
    failed = {"response_flag_filter": {"flags": ["UF"]}}
    calls_grpc = {"and_filter": {"filters": list(_CALLS_GRPC)}}
    mark = header(UNSENT, "1")
    unsent = [{"filter": calls_grpc}, *mappers_of(AWAY)]
    marked = [
        {
            **one,
            "filter": {"and_filter": {"filters": [failed, one["filter"]]}},
            "headers_to_add": [*one.get("headers_to_add", ()), mark],
        }
        for one in unsent
    ]
    return {"mappers": [*(marked if inbound else ()), {"filter": calls_grpc}, *mappers_of(AWAY), *mappers_of(LATE)]}
