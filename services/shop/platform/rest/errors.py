"""Errors that only REST has.

InvalidArgument
├── InvalidRequest   the request does not have the documented form
└── HttpProblem      an error of HTTP itself: a method or media type that is not possible
"""

from __future__ import annotations

from collections.abc import Sequence

from shop.errors import InvalidArgument
from shop.platform.rest.problem_model import FieldError


class InvalidRequest(InvalidArgument):
    """A request that does not have the documented form.

    Args:
        errors: All that is wrong with it, at least one.
        field: The parameter at fault, if it has parts; the first error's unless given.
    """

    def __init__(self, errors: Sequence[FieldError], *, field: str = "") -> None:
        first = errors[0]
        detail = "; ".join(f"{one.field}: {one.message}" if one.field else one.message for one in errors[:3])
        more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
        super().__init__(detail + more, field=field or first.field)
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
    """Returns the problem of a method that the path does not support."""
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
