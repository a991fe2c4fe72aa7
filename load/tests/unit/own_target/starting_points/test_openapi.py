"""A description of an API becomes a target file with all of its operations."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiment.errors import UsageError
from experiment.own_target.file import read_target
from experiment.own_target.starting_points.document import write_start
from experiment.own_target.starting_points.openapi import from_openapi
from experiment.own_target.steps import steps_of

API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Pet shop"},
    "servers": [{"url": "http://{host}:9000/v1", "variables": {"host": {"default": "127.0.0.1"}}}],
    "paths": {
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {"operationId": "get_pet"},
        },
        "/pets": {
            "get": {
                "parameters": [{"name": "kind", "in": "query", "required": True, "schema": {"enum": ["cat", "dog"]}}]
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"201": {}, "404": {}},
            },
        },
        "/born": {"$ref": "#/components/pathItems/born"},
    },
    "components": {
        "schemas": {
            "Pet": {
                "properties": {
                    "name": {"type": "string", "example": "Tom"},
                    "legs": {"type": "integer", "default": 4},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                }
            }
        },
        "examples": {"shoes": {"value": "red shoes"}},
        "pathItems": {"born": {"get": {"operationId": "get-pet"}}},
    },
}


def made_of(operation: dict[str, Any], path: str = "/x") -> tuple[dict[str, Any], list[str]]:
    """The step of one operation, and the notes."""
    document, notes = from_openapi({**API, "servers": [], "paths": {path: {"post": operation}}})
    ((step,),) = (journey["steps"] for journey in document["journeys"].values())
    return step, notes


def test_an_api_becomes_a_journey_for_each_operation(tmp_path: Path) -> None:
    source, out = tmp_path / "api.json", tmp_path / "out.yaml"
    source.write_text(json.dumps(API), encoding="utf-8")
    notes = write_start(source, from_openapi, out)
    assert any("no example gives petId" in note for note in notes)
    file = read_target(out)
    journeys = file.target.journeys
    weights = {name: journey.weight for name, journey in journeys.items()}
    assert weights == {"get-pet": 1, "GET-pets": 1, "addPet": 0, "get-pet-2": 1}
    assert journeys["get-pet"].steps[0].http == "GET /v1/pets/${petId}"
    assert journeys["GET-pets"].steps[0].http == "GET /v1/pets?kind=cat"
    assert journeys["get-pet-2"].steps[0].http == "GET /v1/born"
    (step,) = journeys["addPet"].steps
    assert (step.body["name"], step.body["legs"], step.expect.status) == ("Tom", 4, (201,))
    assert "null" not in json.dumps(step.body), "a schema that has itself inside ends with an empty list"
    assert file.target.targets["mine"].endpoints == {"web": "http://127.0.0.1:9000"}
    assert steps_of(file)["journeys"]


def test_long_names_that_begin_alike_are_numbered() -> None:
    name = "x" * 80
    paths = {f"/{number}": {"get": {"operationId": f"{name}{number}"}} for number in range(11)}
    document, _ = from_openapi({**API, "paths": paths})
    names = list(document["journeys"])
    assert len(names) == 11
    assert {len(name) for name in names} == {len(names[0])}
    assert names[-1].endswith("x-11")


@pytest.mark.parametrize(
    ("parameter", "request_line"),
    [
        ({"example": "a b&c=d"}, "POST /x?p=a%20b%26c%3Dd"),
        ({"name": "filter[x]", "example": "${a}"}, "POST /x?filter%5Bx%5D=%24%7Ba%7D"),
        ({"example": ["a", "b"]}, "POST /x?p=a&p=b"),
        ({"example": ["a", "b"], "explode": False}, "POST /x?p=a,b"),
        ({"example": []}, "POST /x"),
        ({"example": {"a": 1, "b": True}}, "POST /x?a=1&b=true"),
        ({"example": {"a": 1}, "style": "deepObject"}, "POST /x?p%5Ba%5D=1"),
        ({"content": {"application/json": {"example": {"a": 1}}}}, "POST /x?p=%7B%22a%22%3A%201%7D"),
        ({"examples": {"one": {"$ref": "#/components/examples/shoes"}}}, "POST /x?p=red%20shoes"),
        ({"schema": {"type": ["string", "null"], "examples": ["u1"]}}, "POST /x?p=u1"),
        ({"schema": {"allOf": [{"enum": ["cat"]}]}}, "POST /x?p=cat"),
        ({"name": "1-a"}, "POST /x?1-a=${_1_a}"),
        ({"name": "a b", "in": "path", "example": "é/ü"}, "POST /x/%C3%A9%2F%C3%BC"),
    ],
)
def test_a_parameter_is_written_as_clients_send_it(parameter: dict[str, Any], request_line: str) -> None:
    given = {"name": "p", "in": "query", "required": True, **parameter}
    step, _ = made_of({"parameters": [given]}, "/x/{a b}" if given["in"] == "path" else "/x")
    assert step == {"http": request_line}


def test_required_headers_and_cookies_are_written() -> None:
    wanted = [("header", "X-Tenant", "t1"), ("header", "Accept", "x"), ("cookie", "a", 1), ("cookie", "b", None)]
    parameters = [{"in": at, "name": name, "required": True, "example": one} for at, name, one in wanted]
    step, notes = made_of({"parameters": [*parameters, {"in": "header", "name": "X-Other"}]})
    assert step["headers"] == {"X-Tenant": "t1", "cookie": "a=1; b=${b}"}
    assert any("no example gives b" in note for note in notes)


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ({"application/json; charset=utf-8": {"example": {"a": 1}}}, {"body": {"a": 1}}),
        (
            {"application/vnd.api+json": {"schema": {"properties": {"a": STRING}}}},
            {"headers": {"content-type": "application/vnd.api+json"}, "body": {"a": "text"}},
        ),
        (
            {"application/x-www-form-urlencoded": {"schema": {"properties": {"a": {"example": "x &"}}}}},
            {"headers": {"content-type": "application/x-www-form-urlencoded"}, "body": "a=x+%26"},
        ),
        (
            {"application/json": {"schema": {"allOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]}}},
            {"body": {"a": "text", "b": "text"}},
        ),
        (
            {"application/json": {"schema": {"type": ["object", "null"], "properties": {"n": {"type": ["null"]}}}}},
            {"body": {"n": None}},
        ),
        (
            {"application/json": {"schema": {"properties": {"id": {"readOnly": True}, "a": STRING}}}},
            {"body": {"a": "text"}},
        ),
        (
            {"application/json": {"schema": {"type": "array", "items": {"type": "string", "format": "date-time"}}}},
            {"body": ["2024-01-01T00:00:00Z"]},
        ),
    ],
)
def test_a_body_is_an_example_with_its_media_type(content: dict[str, Any], sent: dict[str, Any]) -> None:
    assert made_of({"requestBody": {"content": content}})[0] == {"http": "POST /x", **sent}


def test_a_body_that_no_step_has_is_named() -> None:
    _, notes = made_of({"requestBody": {"content": {"multipart/form-data": {}}}})
    assert "POST /x has no body: its description has multipart/form-data only" in notes


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [(["200"], None), (["204", "400"], 204), (["302"], 302), (["200", "201"], None), ([], None), (["default"], None)],
)
def test_the_only_status_of_success_is_expected(statuses: list[str], expected: int | None) -> None:
    step, _ = made_of({"responses": {status: {} for status in statuses}})
    assert step.get("expect") == (expected and {"status": expected})


def test_a_date_stays_the_text_that_it_is(tmp_path: Path) -> None:
    source, out = tmp_path / "api.yaml", tmp_path / "out.yaml"
    source.write_text(
        "openapi: 3.0.0\npaths: {/x: {post: {requestBody: {content: "
        "{application/json: {example: {day: 2024-01-01, at: 2024-01-01T10:00:00Z}}}}}}}\n",
        encoding="utf-8",
    )
    write_start(source, from_openapi, out)
    (step,) = yaml.safe_load(out.read_text(encoding="utf-8"))["journeys"]["POST-x"]["steps"]
    assert step["body"] == {"day": "2024-01-01", "at": "2024-01-01T10:00:00Z"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"swagger": "2.0"}, "this is Swagger 2.0; convert it to OpenAPI 3 first"),
        ({"openapi": "4.0.0"}, "this is OpenAPI 4.0.0; it must be 3"),
        ({"openapi": None}, "'openapi' is not there; it must be a text"),
        ({"paths": None}, "'paths' is not there; it must be a mapping"),
        ({"paths": {"/x": {"get": None}}}, "/x: 'get' is not there; it must be a mapping"),
        ({"paths": {"/x": {"get": {"parameters": {}}}}}, "GET /x: 'parameters' is {}; it must be a list"),
        (
            {"paths": {"/x": {"get": {"parameters": [{"$ref": "other.yaml#/P"}]}}}},
            "GET /x: $ref other.yaml#/P leads to another file; bundle the description into one first",
        ),
        ({"paths": {"/x": {"$ref": "#/components/none"}}}, "/x: $ref #/components/none leads nowhere"),
        ({"servers": [{}]}, "servers: 'url' is not there; it must be a text"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        from_openapi(copy.deepcopy(API) | changed)
    assert str(refused.value) == said
