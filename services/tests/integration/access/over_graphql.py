"""Attempts over the GraphQL gateway, from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import graphql
import httpx

from graphql_gateway.schema import NODES, build_schema
from shop.platform.graphql.schema import core_schema
from update_doors import global_id

from .contract import CONDITIONS, NONCE, NONCES, PLAIN, RESOURCES, Attempt, Ids, Kind, classify, resource_of, snake

# Notifications have separate tests: the systems here run without them.
SCHEMA = core_schema(build_schema(updates=False))
DEPTH = 3
OF_KIND = {kind: name for name, kind in RESOURCES.items() if kind} | {Kind.LINE: "OrderLine"}
# The fields of a user that anybody may see.
PUBLIC = {"id", "name"}


def graphql_attempts(client: httpx.Client) -> Iterator[Attempt]:
    """Yields an attempt for each argument of a field that identifies a customer's thing; for `node`, one per type."""
    for operation, root in (("query", SCHEMA.query_type), ("mutation", SCHEMA.mutation_type)):
        for name, field in root.fields.items():
            for resource in NODES if name == "node" else [resource_of(name)]:
                shown = f"... on {resource} {_selection(SCHEMA.type_map[resource])}" if name == "node" else ""
                selection = f"{{ {shown} }}" if shown else _selection(graphql.get_named_type(field.type))
                yield from _attempts(client, operation, name, field, resource, selection)
    yield from _nested_attempts(client)


def hidden_fields() -> list[str]:
    """Returns the fields of a user that only the user may see, each as a selection."""
    fields = SCHEMA.type_map["User"].fields
    return [_select(name, field, DEPTH + 1) for name, field in fields.items() if name not in PUBLIC]


def post(client: httpx.Client, token: str, document: str) -> str:
    """Sends a document; returns status and body."""
    answer = client.post("/graphql", json={"query": document}, headers={"authorization": f"Bearer {token}"})
    return f"{answer.status_code}\n{answer.text}"


def _attempts(
    client: httpx.Client, operation: str, name: str, field: Any, resource: str, selection: str, around: str = "{}"
) -> Iterator[Attempt]:
    kinds = {}
    for place in _leaves(field.args):
        leaf = snake(next(part for part in reversed(place) if isinstance(part, str)))
        owner_named = resource in ("User", "Order") and name == "orders"
        kind = classify(f"{name} {place}", leaf, resource, names_user=owner_named)
        # The cursor in the list of all order lines is a line's id.
        kinds[place] = Kind.LINE if (name, leaf) == ("orderLines", "after") else kind
    for tested, kind in kinds.items():
        if kind is None:
            continue

        def send(token: str, own: Ids, value: Any, tested: tuple[Any, ...] = tested) -> str:
            arguments = {
                key: _literal(argument.type, (key,), kinds, own, {tested: value}, resource)
                for key, argument in field.args.items()
            }
            given = ", ".join(f"{key}: {literal}" for key, literal in arguments.items() if literal)
            call = f"{name}({given}) {selection}" if given else f"{name} {selection}"
            return post(client, token, f"{operation} {{ {around.replace('{}', call)} }}")

        label = f"GraphQL {operation} {around.replace('{}', name)}({'.'.join(map(str, tested))}) {resource}"
        yield Attempt(label, kind, send, makes=kind is Kind.KEY)


def _nested_attempts(client: httpx.Client) -> Iterator[Attempt]:
    """Yields attempts for arguments of fields below the roots: a page of a user's orders."""
    roots = (SCHEMA.query_type, SCHEMA.mutation_type)
    for type_ in SCHEMA.type_map.values():
        if not isinstance(type_, graphql.GraphQLObjectType) or type_ in roots or type_.name.startswith("__"):
            continue
        for name, field in type_.fields.items():
            if field.args:
                around = {"User": "me { {} }", "Product": f'product(id: "{global_id("Product", 9000)}") {{ {{}} }}'}
                selection = _selection(graphql.get_named_type(field.type))
                yield from _attempts(client, "query", name, field, type_.name, selection, around[type_.name])


def _leaves(arguments: dict[str, Any], above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for name, argument in arguments.items():
        if name in CONDITIONS:
            continue
        named = graphql.get_named_type(argument.type)
        if isinstance(named, graphql.GraphQLInputObjectType):
            yield from _leaves(named.fields, (*above, name))
        else:
            yield (*above, name)


def _literal(
    type_: Any, place: tuple[Any, ...], kinds: dict[Any, Any], own: Ids, tested: dict[Any, Any], resource: str
) -> str:
    named, listed = graphql.get_named_type(type_), isinstance(getattr(type_, "of_type", type_), graphql.GraphQLList)
    if isinstance(named, graphql.GraphQLInputObjectType):
        inner = {
            key: _literal(field.type, (*place, key), kinds, own, tested, resource)
            for key, field in named.fields.items()
            if key not in CONDITIONS
        }
        literal = "{" + ", ".join(f"{key}: {value}" for key, value in inner.items() if value) + "}"
        return f"[{literal}]" if listed else literal
    kind, leaf = kinds[place], snake(place[-1])
    if kind is None:
        if leaf in ("id", "product_id"):
            return json.dumps(global_id("Product", 9000))
        value = PLAIN.get(leaf, "")
        if isinstance(named, graphql.GraphQLEnumType):
            return str(value)
        return json.dumps(value.replace(NONCE, NONCES.new()) if isinstance(value, str) else value) if value else ""
    value = tested.get(place)
    if value is None:
        if kind is Kind.KEY:
            return json.dumps(NONCES.new())
        # The caller's own page is the first page; callers who buy for themselves need not name themselves.
        if kind is Kind.PAGE or leaf == "user_id":
            return ""
        value = own.of(kind)
    if kind is Kind.PAGE:
        return json.dumps(f"0.{value}")
    return json.dumps(global_id(OF_KIND[kind], value) if kind in OF_KIND else value)


def _selection(type_: Any, depth: int = DEPTH) -> str:
    shown = [_select(name, field, depth) for name, field in type_.fields.items()]
    return "{ " + " ".join(filter(None, shown)) + " }" if any(shown) else ""


def _select(name: str, field: Any, depth: int) -> str:
    named = graphql.get_named_type(field.type)
    if any(graphql.is_required_argument(argument) for argument in field.args.values()):
        return ""
    if graphql.is_leaf_type(named):
        return name
    first = "(first: 2)" if "first" in field.args else ""
    inner = _selection(named, depth - 1) if depth > 1 else ""
    return f"{name}{first} {inner}" if inner else ""
