"""The declarations of operations, each of the row of a call: its route, its callers, its answers and its problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from shop.contract.calls import SERVICES, Access, call_of
from shop.platform.rest.events import EventStream

ACCESS_KEY = "x-access"
SECURITY_SCHEME = "bearer"

_ALWAYS = (400, 500, 503, 504)
_WITH_BODY = (408, 413, 415)
_WITH_TOKEN = (401, 403)

_ETAG = {"description": "Strong entity tag of the content.", "schema": {"type": "string"}}
_CACHE = {"description": "Who may keep the answer for how long.", "schema": {"type": "string"}}
_VARY = {"description": "Request headers on which the answer depends.", "schema": {"type": "string"}}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "Entity tag of an earlier answer; 304 without a body if nothing has changed since.",
    "schema": {"type": "string"},
}
_LOCATION = {"description": "Path of what was made.", "schema": {"type": "string"}}


Method = Callable[..., Any]

_ROUTES = [row.rest for service in SERVICES for row in service.calls]
_BEFORE_A_VERB = {name for route in _ROUTES for name in re.findall(r"{(\w+)}:", route)}


def reading(tag: str, method: Method, *, problems: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the declaration of a GET.

    Args:
        tag: Group of the operation.
        method: Method of a port, whose row has the route and the callers whom it admits.
        problems: HTTP statuses of its problems besides those that every operation can have.
    """
    headers = {"ETag": _ETAG, "Cache-Control": _CACHE, "Vary": _VARY}
    unchanged = {
        "description": "The client has it already (If-None-Match).",
        "headers": headers,
    }
    declared = _declared(tag, 200, "Found.", headers, method, [*_ALWAYS, *problems])
    declared["responses"][304] = unchanged
    declared["openapi_extra"]["parameters"] = [_IF_NONE_MATCH]
    return declared


def streaming(tag: str, method: Method) -> dict[str, Any]:
    """Returns the declaration of a GET that is answered by server-sent events; arguments as for `reading`."""
    declared = _declared(tag, 200, "Open.", {"Cache-Control": _CACHE}, method, [*_ALWAYS, 404, 410, 429])
    return {**declared, "response_class": EventStream}


def creating(tag: str, method: Method, *, problems: Sequence[int] = (), located: bool = True) -> dict[str, Any]:
    """Returns the declaration of a POST that creates something; further arguments as for `reading`.

    Args:
        located: Whether the new resource has a path of its own.
    """
    headers = {"Cache-Control": _CACHE, **({"Location": _LOCATION, "ETag": _ETAG} if located else {})}
    return _declared(tag, 201, "Made.", headers, method, [*_ALWAYS, *_WITH_BODY, *problems])


def changing(tag: str, method: Method, *, problems: Sequence[int] = (), body: bool = True) -> dict[str, Any]:
    """Returns the declaration of a PATCH, or of a POST that changes something; further arguments as for `reading`.

    Args:
        body: Whether it takes a body.
    """
    headers = {"Cache-Control": _CACHE, "ETag": _ETAG}
    with_body = _WITH_BODY if body else ()
    return _declared(tag, 200, "As it is now.", headers, method, [*_ALWAYS, *with_body, 404, *problems])


def removing(tag: str, method: Method, *, problems: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the declaration of a DELETE; arguments as for `reading`."""
    return _declared(tag, 204, "Removed.", {"Cache-Control": _CACHE}, method, [*_ALWAYS, 404, *problems])


def _declared(
    tag: str,
    status: int,
    description: str,
    headers: dict[str, Any],
    method: Method,
    problems: Sequence[int],
) -> dict[str, Any]:
    row = call_of(method)
    access, (verb, path) = row.access, row.rest.split()
    extra: dict[str, Any] = {ACCESS_KEY: access.value}
    if access is Access.INTERNAL:
        problems = [*problems, 403]
    elif access is not Access.EVERYBODY:
        problems = [*problems, *_WITH_TOKEN]
        extra["security"] = [{SECURITY_SCHEME: []}]
    responses: dict[int, dict[str, Any]] = {status: {"headers": headers}}
    # The document gets each problem from one place; FastAPI needs a description until then.
    responses.update({problem: {"description": HTTPStatus(problem).phrase} for problem in sorted(set(problems))})
    return {
        # What a verb follows has no colon itself, so that `/v1/orders/1:cancel` is not an order named "1:cancel".
        "path": re.sub(r"{(\w+)}", _convert, path),
        "methods": [verb],
        "tags": [tag],
        "status_code": status,
        # The body is encoded already; `shop.platform.rest.openapi` reads its schema from what the route returns.
        "response_model": None,
        "response_description": description,
        "responses": responses,
        "openapi_extra": extra,
    }


def _convert(parameter: re.Match[str]) -> str:
    return f"{{{parameter[1]}:name}}" if parameter[1] in _BEFORE_A_VERB else parameter[0]
