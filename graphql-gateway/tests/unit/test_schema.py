"""The schema as it is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphql_gateway.__main__ import main
from graphql_gateway.schema import PUBLIC
from graphql_gateways import SCHEMA

PUBLISHED = Path(__file__).resolve().parents[2] / "schema.graphql"


def test_public_names_are_in_the_schema() -> None:
    types = SCHEMA.type_map
    for name in PUBLIC:
        owner, _, field = name.partition(".")
        assert owner in types, name
        assert not field or field in types[owner].fields, name  # type: ignore[attr-defined]


def test_everything_but_inputs_and_payloads_is_described() -> None:
    undescribed = [
        name
        for name, definition in SCHEMA.type_map.items()
        if not definition.description and not name.startswith("__") and not name.endswith(("Input", "Payload"))
    ]
    assert undescribed == []


def test_the_published_schema_is_the_one_that_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    command = "python -m graphql_gateway schema > graphql-gateway/schema.graphql"
    assert capsys.readouterr().out == PUBLISHED.read_text(), f"run: {command}"


def test_unknown_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shema"]) == 2
    assert "usage: python -m graphql_gateway [schema]" in capsys.readouterr().err
