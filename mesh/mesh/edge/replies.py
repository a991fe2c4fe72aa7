"""What the edge itself answers when it cannot pass a request on: the shop's errors, shaped as a gateway shapes them.

A problem (RFC 9457) over HTTP, errors as GraphQL has them where clients send GraphQL, a status and a message over gRPC;
none gives away what is behind the edge. Codes, titles and types are those of `shop.platform.errors`.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Any

from mesh.edge.limits import CHECKED

GRAPHQL = "/graphql"
"""The path at and below which errors have GraphQL's shape."""
DOMAIN = "hopwise"
"""Whose the codes are, over gRPC."""
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
        detail: Message for the client.
        retry_after_s: After how many seconds the same request may work; None where time alone changes nothing.
        status: The HTTP status that clients get, where it is another one than the program's own; 0 where it is not.
    """

    least: int
    most: int
    code: str
    title: str
    grpc_status: int
    detail: str
    retry_after_s: int | None = None
    status: int = 0

    @property
    def type(self) -> str:
        """The problem's type, a URI."""
        return f"https://hopwise.invalid/problems/{self.code.lower().replace('_', '-')}"

    @property
    def extensions(self) -> dict[str, Any]:
        """The `extensions` of GraphQL's error."""
        return {"code": self.code} | ({"retryAfter": self.retry_after_s} if self.retry_after_s else {})

    @property
    def grpc_details(self) -> str | None:
        """The status with its reason and when to call again, as the services send it in `grpc-status-details-bin`; None
        where it does not say when.
        """
        if self.retry_after_s is None:
            return None
        from google.protobuf.any_pb2 import Any as Packed
        from google.protobuf.duration_pb2 import Duration
        from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
        from google.rpc.status_pb2 import Status

        again = RetryInfo(retry_delay=Duration(seconds=self.retry_after_s))
        told = [ErrorInfo(reason=self.code, domain=DOMAIN), again]
        details = [Packed() for _ in told]
        for packed, one in zip(details, told, strict=True):
            packed.Pack(one)
        status = Status(code=self.grpc_status, message=self.detail, details=details)
        return b64encode(status.SerializeToString(deterministic=True)).decode().rstrip("=")


_TOO_LARGE = (*("RESOURCE_EXHAUSTED", "Request too large"), 8)
_INVALID = (*("INVALID_ARGUMENT", "Invalid argument"), 3)
_VERSION = "this version of HTTP is not spoken here; use HTTP/1.1 or HTTP/2"
INVALID = Reply(400, 499, *_INVALID, "the request is not valid HTTP")
"""What no other row is for; a transcoder says more about a request that it refuses."""
NOWHERE = Reply(404, 404, "NOT_FOUND", "Not found", 12, "there is nothing at this path")
METHOD = Reply(405, 405, *_INVALID, "the method is not possible here; the header Allow names those that are")
REPLIES = (
    NOWHERE,
    METHOD,
    Reply(408, 408, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the request did not arrive in time; send it faster"),
    Reply(413, 413, *_TOO_LARGE, "the body is too large"),
    Reply(414, 414, *_TOO_LARGE, "the headers are too large", status=431),
    Reply(426, 426, *_INVALID, _VERSION),
    Reply(429, 429, "TOO_MANY_REQUESTS", "Too many requests", 8, "too many requests; send fewer", 1),
    Reply(431, 431, *_TOO_LARGE, "the headers are too large"),
    *(Reply(one.answer, one.answer, *_INVALID, one.refusal, status=400) for one in CHECKED if one.answer != 405),
    replace(INVALID, least=403, most=403, status=400),
    INVALID,
    replace(INVALID, least=501, most=501, status=400),
    Reply(502, 503, "UNAVAILABLE", "Unavailable", 14, "the shop does not answer; try again", 1),
    Reply(504, 504, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the shop did not answer in time; try again"),
    Reply(505, 505, *_INVALID, _VERSION, status=426),
    Reply(500, 599, "INTERNAL", "Internal error", 13, "internal error"),
)
"""The first one whose range has the status counts. Where the programs answer the same request by different statuses, a
row gives them one: 403 is Envoy's for an upgrade, 501 both programs' for a transfer coding, 414 and 505 nginx's."""
