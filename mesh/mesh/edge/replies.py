"""What the edge itself answers when it cannot pass a request on: the shop's errors, shaped as a gateway shapes them.

A problem (RFC 9457) over HTTP, errors as GraphQL has them where clients send GraphQL, a status and a message over gRPC;
none gives away what is behind the edge. Codes, titles and types are those of `shop.platform.errors`.
"""

from __future__ import annotations

from dataclasses import dataclass

GRAPHQL = "/graphql"
"""The path at and below which errors have GraphQL's shape."""
GRAPHQL_TYPE = "application/graphql-response+json"
"""Media type of GraphQL's answers; clients that do not accept it get `application/json`."""


@dataclass(frozen=True)
class Reply:
    """One kind of failure.

    Attributes:
        least: The lowest HTTP status that it is for.
        most: The highest HTTP status that it is for.
        code: The shop's error code.
        title: Title of the problem.
        grpc_status: Number of the status over gRPC.
        detail: Message for the client; None for the edge's own reason, such as which header it refuses.
    """

    least: int
    most: int
    code: str
    title: str
    grpc_status: int
    detail: str | None

    @property
    def type(self) -> str:
        """The problem's type, a URI."""
        return f"https://hopwise.invalid/problems/{self.code.lower().replace('_', '-')}"


REPLIES = (
    Reply(404, 404, "NOT_FOUND", "Not found", 12, "there is nothing at this path"),
    Reply(408, 408, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the request did not arrive in time; send it faster"),
    Reply(413, 413, "RESOURCE_EXHAUSTED", "Request too large", 8, "the body is too large"),
    Reply(429, 429, "TOO_MANY_REQUESTS", "Too many requests", 8, "too many requests; send fewer"),
    Reply(431, 431, "RESOURCE_EXHAUSTED", "Request too large", 8, "the headers are too large"),
    Reply(400, 499, "INVALID_ARGUMENT", "Invalid argument", 3, None),
    Reply(502, 503, "UNAVAILABLE", "Unavailable", 14, "the shop does not answer; try again"),
    Reply(504, 504, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the shop did not answer in time; try again"),
    Reply(500, 599, "INTERNAL", "Internal error", 13, "internal error"),
)
"""The first one whose range has the status counts."""
