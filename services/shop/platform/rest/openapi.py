"""Declares what FastAPI cannot derive from structs and finished responses.

Each operation is declared from its call's row. FastAPI derives the schemas of request bodies. The schema of an answer
comes from the return type of the answer's route: msgspec, which encodes the answer, makes the schema too.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute

from shop.contract.calls import SERVICES, Access, call_of
from shop.fields import MAX_ID
from shop.platform.error_codes import ERROR_TABLE, PROBLEM_TYPES
from shop.platform.read_mask import MAX_PATHS
from shop.platform.rest.events import EventStream
from shop.platform.rest.parameters import FIELDS, VALUES_KEY
from shop.platform.rest.problems import EXAMPLE, HTTP_ONLY, MEDIA_TYPE, Problem
from shop.platform.validation import MAX_IDS

ACCESS_KEY = "x-access"
SECURITY_SCHEME = "bearer"

_ALWAYS = (400, 500, 503, 504)
_WITH_BODY = (408, 413, 415)
_WITH_TOKEN = (401, 403)

_ETAG = {"description": "Strong entity tag of the content.", "schema": {"type": "string"}}
_CACHE = {"description": "Which caches may keep the answer, and for how long.", "schema": {"type": "string"}}
_VARY = {"description": "Request headers on which the answer depends.", "schema": {"type": "string"}}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "Entity tag of an earlier answer; 304 without a body if nothing has changed since.",
    "schema": {"type": "string"},
}
_LOCATION = {"description": "Path of the new resource.", "schema": {"type": "string"}}

Method = Callable[..., Any]

_ROUTES = [row.rest for service in SERVICES for row in service.calls]
_BEFORE_A_VERB = {name for route in _ROUTES for name in re.findall(r"{(\w+)}:", route)}


def reading(tag: str, method: Method, *, problems: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the declaration of a GET.

    Args:
        method: Method of a port; its row has the route, and the callers that the call admits.
        problems: HTTP statuses of its problems, in addition to the problems of every operation.
    """
    headers = {"ETag": _ETAG, "Cache-Control": _CACHE, "Vary": _VARY}
    declared = _declare(tag, 200, "Found.", headers, method, [*_ALWAYS, *problems])
    declared["responses"][304] = {"description": "The client has it already (If-None-Match).", "headers": headers}
    declared["openapi_extra"]["parameters"] = [_IF_NONE_MATCH]
    return declared


def streaming(tag: str, method: Method) -> dict[str, Any]:
    """Returns the declaration of a GET whose answer is server-sent events; the arguments are as for `reading`."""
    declared = _declare(tag, 200, "Open.", {"Cache-Control": _CACHE}, method, [*_ALWAYS, 404, 410, 429])
    return {**declared, "response_class": EventStream}


def creating(tag: str, method: Method, *, problems: Sequence[int] = (), located: bool = True) -> dict[str, Any]:
    """Returns the declaration of a POST that creates something, `located` at a path; arguments as for `reading`."""
    headers = {"Cache-Control": _CACHE, **({"Location": _LOCATION, "ETag": _ETAG} if located else {})}
    return _declare(tag, 201, "Made.", headers, method, [*_ALWAYS, *_WITH_BODY, *problems])


def changing(tag: str, method: Method, *, problems: Sequence[int] = (), body: bool = True) -> dict[str, Any]:
    """Returns the declaration of a PATCH, or of a POST that changes something; further arguments as for `reading`."""
    headers = {"Cache-Control": _CACHE, "ETag": _ETAG}
    with_body = _WITH_BODY if body else ()
    return _declare(tag, 200, "As it is now.", headers, method, [*_ALWAYS, *with_body, 404, *problems])


def removing(tag: str, method: Method, *, problems: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the declaration of a DELETE; the arguments are as for `reading`."""
    return _declare(tag, 204, "Removed.", {"Cache-Control": _CACHE}, method, [*_ALWAYS, 404, *problems])


def _declare(
    tag: str, status: int, description: str, headers: dict[str, Any], method: Method, problems: Sequence[int]
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
    # The document later refers to one definition of each problem; until then FastAPI needs a description.
    responses.update({problem: {"description": HTTPStatus(problem).phrase} for problem in sorted(set(problems))})
    return {
        # A parameter before a verb has no colon itself, so that `/v1/orders/1:cancel` is not an order named "1:cancel".
        "path": re.sub(r"{(\w+)}", _convert, path),
        "methods": [verb],
        "tags": [tag],
        "status_code": status,
        # The body is already encoded; `shop.platform.rest.openapi` reads its schema from the route's return type.
        "response_model": None,
        "response_description": description,
        "responses": responses,
        "openapi_extra": extra,
    }


def _convert(parameter: re.Match[str]) -> str:
    return f"{{{parameter[1]}:name}}" if parameter[1] in _BEFORE_A_VERB else parameter[0]


_SCHEMAS = "#/components/schemas/"


class PublishedSchema(NamedTuple):
    """How the schema of a type is published."""

    name: str
    examples: Sequence[dict[str, Any]] = ()


def document(api: FastAPI) -> dict[str, Any]:
    """Returns the OpenAPI document of the routes; `api.state.published` says how the schemas of types are published."""
    made = api.openapi()
    api.openapi_schema = None  # FastAPI would keep the document, which is changed here
    components = made["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"].update(_answers(api, made["paths"]))
    components["securitySchemes"] = {
        SECURITY_SCHEME: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A customer's token comes from `POST /v1/sessions`; partners get theirs with the contract.",
        }
    }
    used: set[int] = set()
    for methods in made["paths"].values():
        for operation in methods.values():
            used |= _name_problems(operation)
            for parameter in operation.get("parameters", ()):
                _write_list(parameter)
    components["responses"] = {_problem_name(status): _problem_response(status) for status in sorted(used)}
    return made


def as_text(made: dict[str, Any]) -> str:
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _name_problems(operation: dict[str, Any]) -> set[int]:
    """Replaces an operation's problems with references to the components, and returns their statuses."""
    responses = operation["responses"]
    if "HTTPValidationError" in json.dumps(responses.get("422", {})):
        del responses["422"]
    statuses = {int(status) for status in responses if int(status) >= 400}
    for status in statuses:
        responses[str(status)] = {"$ref": f"#/components/responses/{_problem_name(status)}"}
    for status in [status for status in responses if 300 <= int(status) < 400]:
        responses[status].pop("content", None)
    operation["responses"] = {status: responses[status] for status in sorted(responses)}
    return statuses


def _problem_name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "").replace("'", "")


def _problem_response(status: int) -> dict[str, Any]:
    kinds = [
        {"type": row.problem_type, "title": row.title, "code": code.value}
        for code, row in ERROR_TABLE.items()
        if row.http == status
    ]
    if status in HTTP_ONLY:
        name, title = HTTP_ONLY[status]
        kinds.append({"type": PROBLEM_TYPES + name, "title": title, "code": "INVALID_ARGUMENT"})
    response: dict[str, Any] = {
        "description": ". ".join(kind["title"] for kind in kinds) + ".",
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": f"{_SCHEMAS}Problem"},
                "examples": {
                    kind["code"].lower(): {
                        "summary": kind["title"],
                        "value": {
                            "type": kind["type"],
                            "title": kind["title"],
                            "status": status,
                            "detail": "What is wrong with this request and what to change.",
                            "instance": "/v1/…",
                            "code": kind["code"],
                        },
                    }
                    for kind in kinds
                },
            }
        },
    }
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "`Bearer`."}}
    if status == 503:
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return response


def _answers(api: FastAPI, paths: dict[str, Any]) -> dict[str, Any]:
    """Adds a reference to each operation that answers with a body, and returns all schemas of answers by name."""
    published: Mapping[type, PublishedSchema] = {Problem: PublishedSchema("Problem", [EXAMPLE]), **api.state.published}
    kinds: list[type] = [Problem]
    contents, selectable = [], []
    for route in api.routes:
        if isinstance(route, APIRoute) and route.include_in_schema and route.status_code != 204:
            kinds += get_args(get_type_hints(route.endpoint)["return"])
            [method] = list(route.methods or ())
            responses = paths[route.path_format][method.lower()]["responses"]
            contents += responses[str(route.status_code)]["content"].values()
            selectable.append(any(field.alias == FIELDS for field in route.dependant.query_params))
    references, schemas = msgspec.json.schema_components(kinds, ref_template=_SCHEMAS + "{name}")
    names = {kind.__name__: as_published for kind, as_published in published.items()}
    named: dict[str, Any] = {}
    for own_name, schema in schemas.items():
        name, examples = names.get(own_name) or PublishedSchema(own_name)
        schema["title"] = name
        if "enum" in schema:
            schema["type"] = "string"
        else:
            # Every field is documented, so that a strict client rejects no answer.
            schema["additionalProperties"] = False
        if examples:
            schema["examples"] = list(examples)
        named[name] = schema
    for content, reference in zip(contents, references[1:], strict=True):
        content["schema"] = reference
    for tree in (named, *contents):
        _rename(tree, names)
    for content, is_selectable in zip(contents, selectable, strict=True):
        if is_selectable:
            whole = content["schema"]
            content["schema"] = {"anyOf": [whole, _without_some(whole, named)]}
    return named


def _without_some(whole: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """Adds the schema of a resource, or of a page of resources, with optional fields; returns a reference to it."""
    name = whole["$ref"].removeprefix(_SCHEMAS)
    if "properties" not in named[name]:
        return whole
    sparse = f"Sparse{name}"
    if sparse not in named:
        schema = named[sparse] = copy.deepcopy(named[name])
        schema["title"] = sparse
        schema.pop("examples", None)
        if "next_page_token" not in schema["properties"]:
            schema.pop("required", None)
        _point_to_sparse(schema["properties"], named)
    return {"$ref": _SCHEMAS + sparse}


def _point_to_sparse(tree: Any, named: dict[str, Any]) -> None:
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict) and "$ref" in value:
            value.update(_without_some(value, named))
        elif isinstance(value, dict | list):
            _point_to_sparse(value, named)


def _rename(tree: Any, names: Mapping[str, PublishedSchema]) -> None:
    """Points the references in a part of the document to schemas under their published names."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if key == "$ref":
            own_name = value.removeprefix(_SCHEMAS)
            tree[key] = _SCHEMAS + names.get(own_name, PublishedSchema(own_name)).name
        elif isinstance(value, dict | list):
            _rename(value, names)


def _write_list(parameter: dict[str, Any]) -> None:
    """Declares a comma-separated list in OpenAPI's way: an array with `style: form` and `explode: false`."""
    valid = parameter["schema"].pop(VALUES_KEY, None)
    if valid:
        most = {"maxItems": MAX_PATHS} if parameter["name"] == FIELDS else {}
        schema: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": valid}, **most}
        parameter["example"] = valid[:1]
    elif parameter["name"] in ("ids", "order_ids", "product_ids"):
        ids = {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID}
        schema = {"type": "array", "items": ids, "minItems": 1, "maxItems": MAX_IDS}
        parameter["example"] = [17, 18]
    else:
        return
    parameter.pop("examples", None)
    parameter.update({"style": "form", "explode": False, "schema": schema})
