"""Request errors, as problem details (RFC 9457).

InvalidArgument
├── InvalidRequest   the request does not have the documented form
└── HttpProblem      an error of HTTP itself, such as a wrong method or media type
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from shop.errors import ErrorCode, InvalidArgument, NotFound, ShopError, Unauthenticated
from shop.fields import describe
from shop.platform.error_codes import PROBLEM_TYPES, row
from shop.platform.http.body import BodyTimeout
from shop.platform.http.caching import NO_STORE
from shop.platform.rest.answers import Answer, encode

MEDIA_TYPE = "application/problem+json"
HTTP_ONLY = {
    405: ("method-not-allowed", "Method not allowed"),
    408: ("request-timeout", "Request timeout"),
    415: ("unsupported-media-type", "Unsupported media type"),
}
"""Statuses that no other protocol has, each with the last part of its problem's type, and the problem's title."""
MAX_ERRORS = 20
"""Maximum number of errors in the answer to an invalid request."""
IS_HEAD = "shop.is_head"
"""Key in an ASGI scope that marks a HEAD request, which is handled as a GET."""

EXAMPLE: dict[str, Any] = {
    "type": "https://hopwise.invalid/problems/not-found",
    "title": "Not found",
    "status": 404,
    "detail": "there is no order 4711",
    "instance": "/v1/orders/4711",
    "code": "NOT_FOUND",
    "field": "id",
}


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong with the request."""

    field: Annotated[
        str, describe("Field of the body (`lines[0].quantity`) or name of the parameter; empty for the whole.")
    ]
    message: Annotated[str, describe("What to change.")]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong and what to change."""

    type: Annotated[str, describe("Names the kind of problem; a stable URI, not a page.")]
    title: Annotated[str, describe("The kind of problem in words.")]
    status: Annotated[int, describe("The HTTP status.", minimum=400, maximum=599)]
    detail: Annotated[str, describe("What is wrong with this request and what to change.")]
    instance: Annotated[str, describe("The path of the request.")]
    code: Annotated[ErrorCode, describe("The same code that GraphQL and gRPC give.")]
    field: Annotated[str, describe("The argument at fault, if there is one.")] = ""
    errors: Annotated[
        Sequence[FieldError], describe(f"The first {MAX_ERRORS} things that are wrong with an invalid request.")
    ] = ()


class InvalidRequest(InvalidArgument):
    """A request that does not have the documented form; the field at fault is by default the first error's.

    `left_out` is the number of further errors.
    """

    def __init__(self, errors: Sequence[FieldError], *, field: str = "", left_out: int = 0) -> None:
        first = errors[0]
        detail = "; ".join(f"{one.field}: {one.message}" if one.field else one.message for one in errors[:3])
        count = len(errors) + left_out
        more = f"; and {count - 3} more" if count > 3 else ""
        super().__init__(detail + more, field=field or first.field)
        self.errors = tuple(errors)


class HttpProblem(InvalidArgument):
    """An error of HTTP itself, with a status of `HTTP_ONLY`."""

    def __init__(self, status: int, message: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = tuple(headers)


def problem_answer(error: ShopError, path: str) -> Response:
    known = row(error)
    status, title, kind = known.http, known.title, known.problem_type
    headers = [NO_STORE]
    errors: Sequence[FieldError] = ()
    if isinstance(error, HttpProblem):
        status = error.status
        headers += error.headers
    elif isinstance(error, BodyTimeout):
        status = 408
        headers.append((b"connection", b"close"))
    elif isinstance(error, InvalidRequest):
        errors = error.errors
    elif isinstance(error, Unauthenticated):
        headers.append((b"www-authenticate", b'Bearer realm="shop"'))
    if status in HTTP_ONLY:
        name, title = HTTP_ONLY[status]
        kind = PROBLEM_TYPES + name
    if error.retry_after_s:
        headers.append((b"retry-after", b"%d" % error.retry_after_s))
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
    return Answer(status, encode(problem), headers, MEDIA_TYPE.encode())


async def answer_invalid_request(request: Request, error: Exception) -> Response:
    """Answers with the first errors that FastAPI found in a request, in the contract's spelling."""
    assert isinstance(error, RequestValidationError)
    field = getattr(request.scope["route"], "body_field", None)
    fields = getattr(field.field_info.annotation, "model_fields", {}) if field is not None else {}
    found = error.errors()
    errors = [_field_error(one, ", ".join(fields)) for one in found[:MAX_ERRORS]]
    return problem_answer(InvalidRequest(errors, left_out=len(found) - len(errors)), request.scope["path"])


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Answers errors of FastAPI and Starlette: an unknown path, a wrong method, a body that is not JSON."""
    assert isinstance(error, HTTPException)
    path: str = request.scope["path"]
    if isinstance(error.__cause__, ShopError):
        # FastAPI replaces an error from reading the body with a generic message.
        return problem_answer(error.__cause__, path)
    if error.status_code == 404:
        return problem_answer(NotFound("there is nothing at this path; /openapi.json lists all paths"), path)
    if error.status_code == 405:
        method = "HEAD" if IS_HEAD in request.scope else request.method
        valid = ", ".join(_methods(request))
        message = f"{method} is not possible here; {valid} are"
        return problem_answer(HttpProblem(405, message, [(b"allow", valid.encode())]), path)
    if error.status_code == 400:
        return problem_answer(InvalidRequest([FieldError("", "the body is not JSON that can be read")]), path)
    raise error


def _methods(request: Request) -> list[str]:
    methods: set[str] = set()
    for route in request.app.routes:
        if route.path_regex.match(request.scope["path"]):
            methods |= route.methods
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _field_error(error: dict[str, Any], fields: str) -> FieldError:
    """Converts one of pydantic's errors to the contract's spelling, "lines[0].quantity"; the body has these fields."""
    where, *place = error["loc"]
    message = error["msg"].removeprefix("Value error, ")
    match error["type"], where:
        case "missing", "body" if not place:
            message = "a JSON body is needed"
        case "missing", "body":
            message = "this field is required"
        case "missing", "header":
            message = f"this header is required; send {place[0]}"
        case "missing", _:
            message = f"this parameter is required; send {place[0]}"
        case "extra_forbidden", _:
            message = "this field is unknown"
            if len(place) == 1:
                message += f"; valid ones are {fields}"
        case "literal_error", _:
            message = f"it must be one of: {error['ctx']['expected'].replace(' or ', ', ')}".replace("'", "")
        case "json_invalid", _:
            message, place = f"the body is not JSON: {error['ctx']['error']} at character {place[0]}", []
    spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return FieldError(spelled.removeprefix(".")[:200], message)
