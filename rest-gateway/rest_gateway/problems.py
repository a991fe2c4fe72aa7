"""Errors as problem details (RFC 9457): one place that turns whatever went wrong into an answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rest_gateway.answers import Answer
from rest_gateway.caching import NO_STORE
from shop.errors import ErrorCode, Internal, InvalidArgument, ShopError, Unauthenticated, Unavailable
from shop.platform.error_table import PROBLEM_TYPES, row

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong with a request."""

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an error."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: ErrorCode
    field: str = ""
    errors: Sequence[FieldError] = ()


class InvalidRequest(InvalidArgument):
    """A request that does not have the documented form.

    Args:
        errors: All that is wrong with it, at least one.
    """

    def __init__(self, errors: Sequence[FieldError]) -> None:
        first = errors[0]
        detail = "; ".join(f"{one.field}: {one.message}" if one.field else one.message for one in errors[:3])
        more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
        super().__init__(detail + more, field=first.field)
        self.errors = tuple(errors)


class HttpProblem(InvalidArgument):
    """An error of HTTP itself, which no other protocol has.

    Args:
        status: The HTTP status.
        name: The last part of the problem's type.
        title: The kind of problem in words.
        message: What is wrong with this request and what to change.
        headers: Headers that go with the status.
    """

    def __init__(
        self, status: int, name: str, title: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.name = name
        self.title = title
        self.headers = tuple(headers)


def method_not_allowed(method: str, allowed: Sequence[str]) -> HttpProblem:
    """Returns the problem of a path that is there, but not for this method."""
    valid = ", ".join(allowed)
    return HttpProblem(
        405,
        "method-not-allowed",
        "Method not allowed",
        f"{method} is not possible here; {valid} are",
        [(b"allow", valid.encode())],
    )


def unsupported_media_type(message: str) -> HttpProblem:
    """Returns the problem of a body that is not JSON, or is compressed."""
    return HttpProblem(415, "unsupported-media-type", "Unsupported media type", message)


def problem_answer(error: Exception, path: str) -> Response:
    """Returns the answer for whatever went wrong; an unknown cause goes to the log and not to the client.

    Args:
        error: What was raised.
        path: The path that was asked for.
    """
    if not isinstance(error, ShopError):
        _log.error("%s failed", path, exc_info=error)
        error = Internal("internal error")
    known = row(error)
    status, title, kind = known.http, known.title, known.problem_type
    headers = [NO_STORE]
    errors: Sequence[FieldError] = ()
    if isinstance(error, HttpProblem):
        status, title, kind = error.status, error.title, PROBLEM_TYPES + error.name
        headers += error.headers
    elif isinstance(error, InvalidRequest):
        errors = error.errors
    elif isinstance(error, Unauthenticated):
        headers.append((b"www-authenticate", b'Bearer realm="shop"'))
    elif isinstance(error, Unavailable):
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    problem = Problem(
        type=kind,
        title=title,
        status=status,
        detail=error.message,
        instance=path,
        code=error.code,
        field=error.field,
        errors=errors,
    )
    return Answer(status, _encode(problem), headers, MEDIA_TYPE.encode())
