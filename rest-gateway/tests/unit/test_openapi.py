"""The OpenAPI document, and Swagger UI, which shows it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.specs.openapi.schemas import OpenApiSchema

from rest_gateway.__main__ import main
from shop.platform.rest.openapi import document

COMMITTED = Path(__file__).parents[2] / "openapi.json"


@pytest.fixture
def made(app: FastAPI) -> dict[str, Any]:
    return document(app)


def operations(made: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, one) for path, methods in made["paths"].items() for method, one in methods.items()]


def test_the_committed_document_is_the_one_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openapi"]) == 0
    command = "python -m rest_gateway openapi > rest-gateway/openapi.json"
    assert capsys.readouterr().out == COMMITTED.read_text(), f"stale: run {command}"


def test_an_unknown_command_names_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opnapi"]) == 2
    assert "valid: none to serve, or openapi" in capsys.readouterr().err


@pytest.mark.ours
async def test_it_is_served(api: httpx.AsyncClient) -> None:
    assert (await api.get("/openapi.json")).text == COMMITTED.read_text()


def test_is_a_valid_openapi_document(made: dict[str, Any]) -> None:
    assert made["openapi"] == "3.1.0"
    schemathesis.openapi.from_dict(made).validate()


def test_every_operation_is_described(made: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(made)]
    assert len(ids) == len(set(ids))
    tags = {tag["name"] for tag in made["tags"]}
    for method, path, operation in operations(made):
        assert operation["description"], (method, path)
        assert set(operation["tags"]) <= tags, (method, path)
        assert "422" not in operation["responses"] or path == "/v1/orders", (method, path)
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (method, path, parameter["name"])


def test_every_answer_and_every_body_has_an_example(made: dict[str, Any]) -> None:
    for method, path, operation in operations(made):
        contents = [operation["requestBody"]["content"]] if "requestBody" in operation else []
        contents += [answer["content"] for answer in operation["responses"].values() if "content" in answer]
        for content in contents:
            for media in content.values():
                # The second example is an answer with fewer fields.
                [whole, *_] = media["schema"].get("anyOf", [media["schema"]])
                name = whole["$ref"].rpartition("/")[2]
                assert made["components"]["schemas"][name]["examples"], (method, path, name)


def test_every_example_is_valid(made: dict[str, Any]) -> None:
    checked = 0
    for name, schema in made["components"]["schemas"].items():
        validator = jsonschema_rs.Draft202012Validator(
            {"$ref": f"#/components/schemas/{name}", "components": made["components"]}
        )
        for example in schema.get("examples", ()):
            validator.validate(example)
            checked += 1
    problem = jsonschema_rs.Draft202012Validator(
        {"$ref": "#/components/schemas/Problem", "components": made["components"]}
    )
    for response in made["components"]["responses"].values():
        for example in response["content"]["application/problem+json"]["examples"].values():
            problem.validate(example["value"])
            checked += 1
    assert checked > 30


def test_every_problem_is_documented_as_one(made: dict[str, Any]) -> None:
    for method, path, operation in operations(made):
        statuses = {int(status) for status in operation["responses"]}
        assert {400, 500, 503, 504} <= statuses, (method, path)
        assert ("security" in operation) == ({401, 403} <= statuses), (method, path)
        for status, answer in operation["responses"].items():
            assert ("$ref" in answer) == (int(status) >= 400), (method, path, status)


def test_lists_are_arrays_with_commas(made: dict[str, Any]) -> None:
    parameters = {one["name"]: one for one in made["paths"]["/v1/products"]["get"]["parameters"]}
    assert parameters["ids"]["schema"]["type"] == "array"
    assert (parameters["ids"]["style"], parameters["ids"]["explode"]) == ("form", False)
    assert parameters["include"]["schema"]["items"]["enum"] == ["reviews"]


def test_an_answer_that_differs_from_the_document_is_noticed(documented: OpenApiSchema) -> None:
    operation, unselectable = (
        documented[path]["GET"] for path in ("/v1/products/{product_id}", "/v1/documents/{document_id}")
    )

    def answer(body: dict[str, Any]) -> httpx.Response:
        headers = {"etag": '"x"', "cache-control": "x", "vary": "x"}
        request = httpx.Request("GET", "http://gateway/v1/products/1")
        response = httpx.Response(200, json=body, headers=headers, request=request)
        response.elapsed = timedelta(0)
        return response

    good = json.loads(COMMITTED.read_text())["components"]["schemas"]["Product"]["examples"][0]
    assert operation.is_valid_response(answer(good))
    assert operation.is_valid_response(answer({"id": 17})), "`fields` may have asked for less"
    assert not unselectable.is_valid_response(answer({"id": 17}))
    for wrong in ({**good, "price": 5}, {**good, "colour": "red"}, {**good, "id": "17"}, {"id": "17"}):
        assert not operation.is_valid_response(answer(wrong))


@pytest.mark.ours
async def test_swagger_ui_loads_nothing_from_elsewhere(api: httpx.AsyncClient) -> None:
    page = await api.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) == 3
    kinds = {"js": "text/javascript", "css": "text/css", "png": "image/png"}
    for link in links:
        assert link.startswith("/docs/")
        part = await api.get(link)
        assert (part.status_code, part.headers["content-type"]) == (200, kinds[link.rpartition(".")[2]])
        assert part.content
    assert "/openapi.json" in page.text
    assert "https://" not in page.text
