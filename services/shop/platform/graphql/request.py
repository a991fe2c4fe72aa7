"""Reads a GraphQL request from HTTP, as the GraphQL-over-HTTP specification defines it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from shop.errors import InvalidArgument, ResourceExhausted
from shop.platform.graphql.error_format import Refused
from shop.platform.http import strict_json
from shop.platform.http.body import BodyTimeout, limited_body

_PARAMETERS = ("query", "variables", "operationName", "extensions")
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """A client's request; it has no query if the document is persisted, and needs no name for the only operation."""

    query: str | None
    variables: dict[str, Any]
    operation_name: str | None
    sha256: str | None


async def read_body(request: Request, content_length: str | None) -> bytes:
    """Returns the body. Raises `Refused` if it is too large or did not arrive in time, or else as `limited_body`."""
    try:
        return b"".join([chunk async for chunk in limited_body(request.stream(), content_length)])
    except BodyTimeout as error:
        raise Refused(408, error, ((b"connection", b"close"),)) from error
    except ResourceExhausted as error:
        raise Refused(413, error) from error


def from_json(body: bytes) -> GraphQLRequest:
    """Returns the request in a JSON body. Raises `Refused` if the body is not a request."""
    parameters = _decode(body, "the body")
    if isinstance(parameters, list):
        raise _bad_request("the body is a list of operations, which is not supported; send one request for each")
    return _check(parameters, "the body")


def from_query_string(query_string: bytes) -> GraphQLRequest:
    """Returns the request in the query string of a GET. Raises `Refused` if the string is not a request."""
    parameters: dict[str, Any] = {}
    for name, text in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in parameters and name in _PARAMETERS:
            raise _bad_request(f"{name} is given twice; give it once", name)
        parameters[name] = _decode(text, name) if name in ("variables", "extensions") else text
    return _check(parameters, "the query string")


def _decode(text: bytes | str, what: str) -> Any:
    try:
        strict_json.loads(text)
        return orjson.loads(text)  # which refuses lone surrogates
    except json.JSONDecodeError as error:
        raise _bad_request(f"{what} is not JSON: {error}", what if isinstance(text, str) else "") from error
    except InvalidArgument as error:
        raise Refused(400, error) from error


def _check(parameters: object, where: str) -> GraphQLRequest:
    if not isinstance(parameters, dict):
        raise _bad_request(f"{where} must be an object with query, variables, operationName and extensions")
    query = _read(parameters, "query", str, "a text")
    variables = _read(parameters, "variables", dict, "an object")
    operation_name = _read(parameters, "operationName", str, "a text")
    extensions = _read(parameters, "extensions", dict, "an object")
    return GraphQLRequest(query, variables or {}, operation_name or None, _hash(extensions) if extensions else None)


def _read(parameters: dict[str, Any], name: str, kind: type, what: str) -> Any:
    value = parameters.get(name)
    if value is not None and not isinstance(value, kind):
        raise _bad_request(f"{name} must be {what} or null", name)
    return value


def _hash(extensions: dict[str, Any]) -> str | None:
    persisted = extensions.get("persistedQuery")
    if persisted is None:
        return None
    field = "extensions.persistedQuery"
    if not isinstance(persisted, dict) or persisted.get("version") != 1:
        raise _bad_request(f'{field} must be an object {{"version": 1, "sha256Hash": "..."}}', field)
    sha256 = persisted.get("sha256Hash")
    if not isinstance(sha256, str) or len(sha256) != 64 or not _HEX.issuperset(sha256):
        raise _bad_request(f"{field}.sha256Hash must be 64 lower-case hexadecimal digits", f"{field}.sha256Hash")
    return sha256


def _bad_request(message: str, field: str = "") -> Refused:
    return Refused(400, InvalidArgument(message, field=field))
