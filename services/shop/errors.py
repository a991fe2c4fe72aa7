"""Errors of the shop, the same in every protocol.

The table that maps errors to gRPC statuses, HTTP problems and GraphQL codes is `shop.platform.error_codes`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """The closed list of codes that clients see, the same in every protocol."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    INVALID_PAGE_TOKEN = "INVALID_PAGE_TOKEN"  # noqa: S105 - a code, not a secret
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    OUT_OF_STOCK = "OUT_OF_STOCK"
    PAYMENT_DECLINED = "PAYMENT_DECLINED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    CONFLICT = "CONFLICT"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED"
    POSITION_GONE = "POSITION_GONE"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"


class ShopError(Exception):
    """The base of every error that a client may see.

    Args:
        message: One sentence for the client that says what to change; never an internal detail.
        field: The argument at fault, in the contract's spelling ("lines[2].quantity"); empty for no argument.
        retry_after_s: After how many seconds a retry may succeed, if not after the class's default; 0 for the default.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    retry_after_s: int = 0
    """After how many seconds a retry may succeed; 0 if waiting does not help, or the time is unknown."""

    def __init_subclass__(cls, code: ErrorCode | None = None) -> None:
        cls.code = code or cls.code

    def __init__(self, message: str, *, field: str = "", retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if retry_after_s:
            self.retry_after_s = retry_after_s


class InvalidArgument(ShopError, code=ErrorCode.INVALID_ARGUMENT):
    """The caller sent a value out of range."""


class InvalidPageToken(InvalidArgument, code=ErrorCode.INVALID_PAGE_TOKEN):
    """The page token does not come from the call to which it was sent."""


class Unauthenticated(ShopError, code=ErrorCode.UNAUTHENTICATED):
    """There is no token, it is not valid, or the credentials are wrong."""


class PermissionDenied(ShopError, code=ErrorCode.PERMISSION_DENIED):
    """The token is valid but does not allow this."""


class NotFound(ShopError, code=ErrorCode.NOT_FOUND):
    """The thing does not exist."""


def no_such(kind: str, number: int, field: str = "id") -> NotFound:
    """Returns the error for an id that does not exist or that the caller may not see: callers cannot tell which."""
    return NotFound(f"there is no {kind} {number}", field=field)


class AlreadyExists(ShopError, code=ErrorCode.ALREADY_EXISTS):
    """The new thing exists already."""


class FailedPrecondition(ShopError, code=ErrorCode.FAILED_PRECONDITION):
    """The thing is in a state that forbids this."""


class OutOfStock(FailedPrecondition, code=ErrorCode.OUT_OF_STOCK):
    """A product has fewer pieces than requested."""


class PaymentDeclined(FailedPrecondition, code=ErrorCode.PAYMENT_DECLINED):
    """The bank declined the payment."""


class IdempotencyKeyReused(FailedPrecondition, code=ErrorCode.IDEMPOTENCY_KEY_REUSED):
    """The idempotency key was used with another body."""


class Conflict(ShopError, code=ErrorCode.CONFLICT):
    """Another call is changing the same thing; a retry a moment later may succeed."""


class PreconditionFailed(ShopError, code=ErrorCode.PRECONDITION_FAILED):
    """The thing has changed since the caller read it."""


def changed_since(kind: str, number: int) -> PreconditionFailed:
    """Returns the error for a change of something that is no longer as the caller read it."""
    return PreconditionFailed(f"{kind} {number} has changed since it was read; read it again", field="expected")


class PreconditionRequired(ShopError, code=ErrorCode.PRECONDITION_REQUIRED):
    """Others may have changed the thing, so the caller has to say what it read."""


class PositionGone(ShopError, code=ErrorCode.POSITION_GONE):
    """Notifications after a position of a stream are no longer kept."""


class ResourceExhausted(ShopError, code=ErrorCode.RESOURCE_EXHAUSTED):
    """The request exceeds a limit of the server: depth, cost or size."""


class TooManyRequests(ResourceExhausted, code=ErrorCode.TOO_MANY_REQUESTS):
    """The same thing was tried too often recently."""

    retry_after_s = 300


class DeadlineExceeded(ShopError, code=ErrorCode.DEADLINE_EXCEEDED):
    """The caller's time is up."""


class Unavailable(ShopError, code=ErrorCode.UNAVAILABLE):
    """A required component does not answer."""

    retry_after_s = 1


class Internal(ShopError, code=ErrorCode.INTERNAL):
    """Anything else: a fault of the server whose cause stays in its log."""


def late(peer: str) -> DeadlineExceeded:
    """Returns the error for a service whose answer did not come in time."""
    return DeadlineExceeded(f"the {peer} service did not answer within the deadline of the request")


def away(peer: str, kind: type[Unavailable] = Unavailable) -> Unavailable:
    """Returns the error for a service that does not answer."""
    return kind(f"the {peer} service does not answer; try again")
