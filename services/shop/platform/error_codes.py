"""The closed table that maps each error of `shop.errors` to each protocol.

In GraphQL and Thrift, an error carries the code itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shop import errors
from shop.errors import ErrorCode, ShopError

DOMAIN = "hopwise"
"""The domain of google.rpc.ErrorInfo."""

PROBLEM_TYPES = "https://hopwise.invalid/problems/"
"""Prefix of the `type` of every HTTP problem."""


@dataclass(frozen=True, slots=True)
class Row:
    """One error code in each protocol, with the problem's title (RFC 9457), which is the same for every occurrence.

    gRPC's status is given by name, so that programs without gRPC need not load the library.
    """

    grpc: str
    http: int
    title: str
    error: type[ShopError]

    @property
    def problem_type(self) -> str:
        """The `type` of the HTTP problem (RFC 9457), a URI that identifies it."""
        return PROBLEM_TYPES + self.error.code.value.lower().replace("_", "-")


_ROWS = (
    Row("INVALID_ARGUMENT", 400, "Invalid argument", errors.InvalidArgument),
    Row("INVALID_ARGUMENT", 400, "Invalid page token", errors.InvalidPageToken),
    Row("UNAUTHENTICATED", 401, "Not authenticated", errors.Unauthenticated),
    Row("PERMISSION_DENIED", 403, "Permission denied", errors.PermissionDenied),
    Row("NOT_FOUND", 404, "Not found", errors.NotFound),
    Row("ALREADY_EXISTS", 409, "Already exists", errors.AlreadyExists),
    Row("FAILED_PRECONDITION", 409, "Not possible in this state", errors.FailedPrecondition),
    Row("FAILED_PRECONDITION", 409, "Out of stock", errors.OutOfStock),
    Row("FAILED_PRECONDITION", 402, "Payment declined", errors.PaymentDeclined),
    Row("FAILED_PRECONDITION", 422, "Idempotency key used again", errors.IdempotencyKeyReused),
    Row("ABORTED", 409, "Conflict with another call", errors.Conflict),
    Row("FAILED_PRECONDITION", 412, "Changed since it was read", errors.PreconditionFailed),
    Row("FAILED_PRECONDITION", 428, "Condition required", errors.PreconditionRequired),
    Row("OUT_OF_RANGE", 410, "No longer kept", errors.PositionGone),
    Row("RESOURCE_EXHAUSTED", 413, "Request too large", errors.ResourceExhausted),
    Row("RESOURCE_EXHAUSTED", 429, "Too many requests", errors.TooManyRequests),
    Row("DEADLINE_EXCEEDED", 504, "Deadline exceeded", errors.DeadlineExceeded),
    Row("UNAVAILABLE", 503, "Unavailable", errors.Unavailable),
    Row("INTERNAL", 500, "Internal error", errors.Internal),
)

ERROR_TABLE: Mapping[ErrorCode, Row] = MappingProxyType({row.error.code: row for row in _ROWS})
SERVER_FAULTS = frozenset(code for code, entry in ERROR_TABLE.items() if entry.http >= 500)
"""Codes that are not the caller's fault."""


def row(error: ShopError) -> Row:
    return ERROR_TABLE[error.code]


def error_for_code(code: str, message: str, field: str = "", retry_after_s: int = 0) -> ShopError:
    """Makes the error that the other end raised, from the error's code; an unknown code becomes `Internal`.

    A retry may succeed after `retry_after_s` seconds; 0 if the other end does not say.
    """
    try:
        known = ErrorCode(code)
    except ValueError:
        return errors.Internal("internal error")
    return ERROR_TABLE[known].error(message, field=field, retry_after_s=retry_after_s)
