"""A proxy's own answers to requests that it cannot forward: the shop's errors, in the gateways' format.

Over HTTP, an answer is a problem document (RFC 9457); for clients that send GraphQL, it is a GraphQL error. Over gRPC,
it is a status with a message. No answer reveals what is behind the proxy. Codes, titles and types are those of
`shop.platform.error_codes`.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

GRAPHQL = "/graphql"
"""At this path and below it, errors have GraphQL's format."""
DOMAIN = "hopwise"
"""Domain of the error codes over gRPC."""
GRAPHQL_TYPE = "application/graphql-response+json"
"""Media type of GraphQL's answers; clients that do not accept it get `application/json`."""


@dataclass(frozen=True)
class Reply:
    """One kind of failure, from the lowest to the highest HTTP status that it is for.

    Attributes:
        retry_after_s: Seconds after which the same request may succeed; None where waiting does not help.
        status: The HTTP status that clients get, if it differs from the proxy program's own status; otherwise 0.
    """

    min_status: int
    max_status: int
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
        """The `extensions` of the GraphQL error."""
        return {"code": self.code} | ({"retryAfter": self.retry_after_s} if self.retry_after_s else {})

    @property
    def grpc_details(self) -> str | None:
        """The status with its reason and the retry delay, as the services send it in `grpc-status-details-bin`; None
        without a retry delay."""
        if self.retry_after_s is None:
            return None
        from google.protobuf.any import pack
        from google.protobuf.duration_pb2 import Duration
        from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
        from google.rpc.status_pb2 import Status

        again = RetryInfo(retry_delay=Duration(seconds=self.retry_after_s))
        details = [pack(ErrorInfo(reason=self.code, domain=DOMAIN)), pack(again)]
        status = Status(code=self.grpc_status, message=self.detail, details=details)
        return b64encode(status.SerializeToString(deterministic=True)).decode().rstrip("=")


AWAY = Reply(502, 503, "UNAVAILABLE", "Unavailable", 14, "the shop does not answer; try again", 1)
LATE = Reply(504, 504, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the shop did not answer in time; try again")
