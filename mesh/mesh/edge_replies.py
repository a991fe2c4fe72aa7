"""What the edge itself answers when it cannot pass a request on: the shop's errors, shaped as a gateway shapes them.

A problem (RFC 9457) over HTTP, a status and a message over gRPC; neither gives away what is behind the edge. Codes,
titles and types are those of `shop.platform.error_table`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

REASON = "%LOCAL_REPLY_BODY%"
"""Envoy's message for a request that it refuses: the route's own, or the transcoder's."""


@dataclass(frozen=True)
class Reply:
    """One kind of failure.

    Attributes:
        least: The lowest HTTP status that it is for.
        most: The highest HTTP status that it is for.
        code: The shop's error code.
        title: Title of the problem.
        grpc_status: Number of the status over gRPC.
        detail: Message for the client.
    """

    least: int
    most: int
    code: str
    title: str
    grpc_status: int
    detail: str


REPLIES = (
    Reply(404, 404, "NOT_FOUND", "Not found", 12, "there is nothing at this path"),
    Reply(408, 408, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the request did not arrive in time; send it faster"),
    Reply(413, 413, "RESOURCE_EXHAUSTED", "Request too large", 8, "the body is too large"),
    Reply(431, 431, "RESOURCE_EXHAUSTED", "Request too large", 8, "the headers are too large"),
    Reply(400, 499, "INVALID_ARGUMENT", "Invalid argument", 3, REASON),
    Reply(502, 503, "UNAVAILABLE", "Unavailable", 14, "the shop does not answer; try again"),
    Reply(504, 504, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the shop did not answer in time; try again"),
    Reply(500, 599, "INTERNAL", "Internal error", 13, "internal error"),
)
"""The first one whose range has the status counts."""

_CALLS_GRPC = (
    {"header_filter": {"header": {"name": "content-type", "string_match": {"prefix": "application/grpc"}}}},
    # What the transcoder has made a call of came as JSON; no client can bring this header.
    {"header_filter": {"header": {"name": "x-envoy-original-method", "present_match": False}}},
)


def mappers() -> list[dict[str, Any]]:
    """Envoy's `local_reply_config.mappers` of all replies."""
    return [mapper for reply in REPLIES for mapper in _of(reply)]


def _of(reply: Reply) -> Iterator[dict[str, Any]]:
    within = [_status("GE", reply.least), _status("LE", reply.most)]
    status = {"header": {"key": "grpc-status", "value": str(reply.grpc_status)}}
    yield {
        "filter": {"and_filter": {"filters": [*_CALLS_GRPC, *within]}},
        "headers_to_add": [{**status, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}],
        "body_format_override": {"text_format_source": {"inline_string": reply.detail}},
    }
    problem = {
        "type": f"https://hopwise.invalid/problems/{reply.code.lower().replace('_', '-')}",
        "title": reply.title,
        "status": "%RESPONSE_CODE%",
        "detail": reply.detail,
        "instance": "%PATH(NQ)%",
        "code": reply.code,
    }
    yield {
        "filter": {"and_filter": {"filters": within}},
        "body_format_override": {
            "content_type": "application/problem+json",
            "json_format": problem,
            "omit_empty_values": True,
        },
    }


def _status(op: str, value: int) -> dict[str, Any]:
    # Envoy wants a name under which the number could be changed while it runs.
    comparison = {"op": op, "value": {"default_value": value, "runtime_key": f"edge.reply.{value}"}}
    return {"status_code_filter": {"comparison": comparison}}
