"""The undocumented parts of Strawberry that the shop needs are still there."""

from __future__ import annotations

import pytest
import strawberry
from graphql import parse

from shop.platform.graphql.schema import RequestContext, Schema


@strawberry.type
class Query:
    @strawberry.field
    def echo(self, text: str) -> str:
        return text


@strawberry.type
class Mutation:
    @strawberry.field
    def nothing(self) -> bool:
        return True


async def test_a_prepared_document_is_neither_parsed_nor_validated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, context = Schema(Query, Mutation), RequestContext()
    context.document = parse('{ echo(text: "x") }')

    def never(*_: object, **__: object) -> None:
        raise AssertionError("this was done when the document was prepared")

    for name in ("parse", "validate_document"):
        monkeypatch.setattr(f"strawberry.schema.schema.{name}", never)
    assert (await schema.execute(None, context_value=context)).data == {"echo": "x"}
