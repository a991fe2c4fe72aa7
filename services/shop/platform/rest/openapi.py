"""The OpenAPI 3.1 document: FastAPI's, with the problems and lists written as OpenAPI writes them."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from shop.platform.error_table import ERROR_TABLE, PROBLEM_TYPES
from shop.platform.rest.fields import MAX_ID
from shop.platform.rest.operations import SECURITY_SCHEME
from shop.platform.rest.parameters import MAX_IDS, VALUES_KEY
from shop.platform.rest.problem_model import Problem
from shop.platform.rest.problems import MEDIA_TYPE

_REF = "#/components/schemas/{model}"

_HTTP_ONLY = {
    405: ("Method not allowed", "method-not-allowed"),
    408: ("Request timeout", "request-timeout"),
    415: ("Unsupported media type", "unsupported-media-type"),
}


def document(api: FastAPI) -> dict[str, Any]:
    """Returns the OpenAPI document of the routes.

    Args:
        api: Where they were declared.
    """
    made = get_openapi(
        title=api.title,
        version=api.version,
        openapi_version="3.1.0",
        summary=api.summary,
        description=api.description,
        routes=api.routes,
        tags=api.openapi_tags,
        license_info=api.license_info,
    )
    components = made["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"].update(_problem_schemas())
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
    """Returns the document as it lies in the repository."""
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _name_problems(operation: dict[str, Any]) -> set[int]:
    """Puts the components' problems in the place of an operation's, and returns their statuses."""
    responses = operation["responses"]
    undeclared = "HTTPValidationError" in json.dumps(responses.get("422", {}))
    if undeclared:
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
    if status in _HTTP_ONLY:
        title, name = _HTTP_ONLY[status]
        kinds.append({"type": PROBLEM_TYPES + name, "title": title, "code": "INVALID_ARGUMENT"})
    response: dict[str, Any] = {
        "description": ". ".join(kind["title"] for kind in kinds) + ".",
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": _REF.format(model="Problem")},
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


def _problem_schemas() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template=_REF)
    nested = schema.pop("$defs", {})
    return {"Problem": schema, **nested}


def _write_list(parameter: dict[str, Any]) -> None:
    """Writes a list with commas as OpenAPI does: an array in the form style that does not explode."""
    valid = parameter["schema"].pop(VALUES_KEY, None)
    if valid:
        schema: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": valid}}
        parameter["example"] = valid[:1]
    elif parameter["name"] in ("ids", "order_ids", "product_ids"):
        ids = {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID}
        schema = {"type": "array", "items": ids, "minItems": 1, "maxItems": MAX_IDS}
        parameter["example"] = [17, 18]
    else:
        return
    parameter.pop("examples", None)
    parameter.update({"style": "form", "explode": False, "schema": schema})
