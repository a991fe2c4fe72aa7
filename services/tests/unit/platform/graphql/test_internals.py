"""The undocumented parts of Strawberry that the shop needs are still there."""

from __future__ import annotations

import pytest
import strawberry
from graphql import FieldNode, GraphQLResolveInfo, GraphQLSchema, parse, validate

from shop.platform.graphql.schema import RequestContext, Schema, core_info, core_schema

seen: list[GraphQLResolveInfo] = []


@strawberry.type
class Query:
    @strawberry.field
    def echo(self, info: strawberry.Info[RequestContext, None], text: str) -> str:
        seen.append(core_info(info))
        return text


@strawberry.type
class Mutation:
    @strawberry.field
    def nothing(self) -> bool:
        return True


SCHEMA = Schema(Query, Mutation)


def prepare(text: str) -> RequestContext:
    context = RequestContext()
    context.document = parse(text)
    return context


def test_core_schema_validates_what_strawberry_executes() -> None:
    schema = core_schema(SCHEMA)
    assert isinstance(schema, GraphQLSchema)
    assert validate(schema, parse('{ echo(text: "x") }')) == []
    assert len(validate(schema, parse("{ nonsense }"))) == 1


async def test_core_info_has_the_nodes_and_fragments_of_the_field() -> None:
    seen.clear()
    context = prepare('query { ...F } fragment F on Query { again: echo(text: "x") }')
    result = await SCHEMA.execute(None, context_value=context)
    assert result.data == {"again": "x"}
    (info,) = seen
    assert [node.alias.value for node in info.field_nodes if isinstance(node, FieldNode) and node.alias] == ["again"]
    assert list(info.fragments) == ["F"]
    assert info.context is context


async def test_a_prepared_document_is_neither_parsed_nor_validated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    context = prepare('{ echo(text: "x") }')

    def never(*_: object, **__: object) -> None:
        raise AssertionError("this was done when the document was prepared")

    for name in ("parse", "validate_document"):
        monkeypatch.setattr(f"strawberry.schema.schema.{name}", never)
    assert (await SCHEMA.execute(None, context_value=context)).data == {"echo": "x"}
