"""Target files that are made of recordings and API descriptions can be read again, and keep no secret of a header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from experiment.own_target.file import read_target
from experiment.own_target.starting_points import from_har, from_openapi, write_start
from experiment.own_target.steps import steps_of

API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Pet shop"},
    "servers": [{"url": "http://127.0.0.1:9000/v1"}],
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
            },
        },
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
        }
    },
}


def entry(method: str, url: str, status: int = 200, text: str = "", kind: str = "application/json") -> dict[str, Any]:
    return {
        "request": {
            "method": method,
            "url": url,
            "headers": [
                {"name": "Authorization", "value": "Bearer secret-1"},
                {"name": "cookie", "value": "s=secret-2"},
            ],
            **({"postData": {"mimeType": kind, "text": text}} if text else {}),
        },
        "response": {"status": status},
    }


def test_a_recording_becomes_a_journey_without_headers(tmp_path: Path) -> None:
    entries = [
        entry("GET", "http://127.0.0.1:9000/a?x=${y}"),
        entry("GET", "data:image/png;base64,xx"),
        entry("POST", "http://127.0.0.1:9000/b", 303, '{"a": "${b}"}'),
        entry("POST", "https://api.example/graphql", 200, '{"query": "{ a }", "variables": {"n": 1}}'),
        entry("POST", "http://127.0.0.1:9000/form", 200, "a=1", "application/x-www-form-urlencoded"),
    ]
    source, out = tmp_path / "x.har", tmp_path / "out.yaml"
    source.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    (note,) = write_start(source, from_har, out)
    assert "headers were left out, authorization, cookie among them" in note
    assert "secret" not in out.read_text(encoding="utf-8")
    target = read_target(out).target
    first, second, graphql, form = target.journeys["visit"].steps
    assert (first.http, first.at) == ("GET /a?x=$${y}", "web1")
    assert (second.body, second.expect.status) == ({"a": "$${b}"}, (303,))
    assert (graphql.graphql, graphql.variables, graphql.at) == ("{ a }", {"n": 1}, "web2")
    assert (form.body, form.headers) == ("a=1", {"content-type": "application/x-www-form-urlencoded"})
    assert target.targets["mine"].endpoints["web2"] == "https://api.example:443"
    with pytest.raises(UsageError, match="is there already"):
        write_start(source, from_har, out)


def test_an_api_becomes_a_journey_for_each_operation(tmp_path: Path) -> None:
    source, out = tmp_path / "api.json", tmp_path / "out.yaml"
    source.write_text(json.dumps(API), encoding="utf-8")
    notes = write_start(source, from_openapi, out)
    assert any("no example gives petId" in note for note in notes)
    file = read_target(out)
    journeys = file.target.journeys
    assert {name: journey.weight for name, journey in journeys.items()} == {"get-pet": 1, "GET-pets": 1, "addPet": 0}
    assert journeys["get-pet"].steps[0].http == "GET /v1/pets/${petId}"
    assert journeys["GET-pets"].steps[0].http == "GET /v1/pets?kind=cat"
    body = journeys["addPet"].steps[0].body
    assert (body["name"], body["legs"]) == ("Tom", 4)
    assert steps_of(file)["journeys"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"log": {}}', '{"log": {"entries": [1]}}', "a: [", "\x00"])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    source = tmp_path / "x.har"
    source.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"x\.har"):
        write_start(source, from_har, tmp_path / "out.yaml")
    assert not (tmp_path / "out.yaml").exists()
