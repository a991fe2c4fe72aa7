"""Attempts over REST, from the OpenAPI documents of the gateway and of the services."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import httpx

from memory_shop import MemoryShop
from rest_gateway.app import build_app as gateway_app
from shop.platform.access.rules import Authenticator
from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import document

from .contract import NONCE, NONCES, PLAIN, Attempt, Ids, Kind, classify, resource_of, snake

# Headers that vary, with the time, or with whether the edge had forwarded the whole body when the answer came.
UNSTEADY = {"date", "x-envoy-upstream-service-time", "connection"}


def gateway_documents() -> list[dict[str, Any]]:
    """Returns the gateway's OpenAPI document, in a list."""
    return [document(gateway_app(MemoryShop().clients, Incoming(Authenticator(None))))]


def service_documents() -> list[dict[str, Any]]:
    apps = (import_module(f"shop.{name}.rest").build_app for name in ("order", "payment", "product", "user"))
    return [document(build_app(None, Incoming(Authenticator(None)))) for build_app in apps]


def rest_attempts(client: httpx.Client, documents: list[dict[str, Any]]) -> Iterator[Attempt]:
    """Yields an attempt for each parameter and each field of a body that identifies a customer's thing."""
    for made in documents:
        for path, operations in made["paths"].items():
            for verb, operation in operations.items():
                yield from _attempts(client, made, path, verb, operation)


def _attempts(
    client: httpx.Client, made: dict[str, Any], path: str, verb: str, operation: dict[str, Any]
) -> Iterator[Attempt]:
    parameters = operation.get("parameters", [])
    body = _example(made, operation)
    places: list[tuple[Any, ...]] = [(one["in"], one["name"]) for one in parameters]
    places += [("body", *place) for place in _leaves(body)]
    names_user = "{user_id}" in path
    kinds = {}
    for place in places:
        name = snake(next(part for part in reversed(place) if isinstance(part, str)))
        where = f"{verb.upper()} {path} {'.'.join(map(str, place))}"
        kinds[place] = classify(where, name, resource_of(path), names_user=names_user)
    for tested, kind in kinds.items():
        if kind is None:
            continue

        def send(token: str, own: Ids, value: Any, tested: tuple[Any, ...] = tested) -> str:
            url, query, headers = path, {}, {"authorization": f"Bearer {token}"}
            content = copy.deepcopy(body)
            for place, what in kinds.items():
                given = _value(place, what, own, value if place == tested else None)
                if place[0] == "body":
                    _put(content, place[1:], given)
                elif place[0] == "path":
                    url = url.replace(f"{{{place[1]}}}", str(given))
                elif given != "":
                    (query if place[0] == "query" else headers)[place[1]] = str(given)
            answer = client.request(verb.upper(), url, params=query, headers=headers, json=content)
            shown = sorted((name, text) for name, text in answer.headers.items() if name not in UNSTEADY)
            return f"{answer.status_code} {shown}\n{answer.text}"

        name = f"REST {verb.upper()} {path} {'.'.join(map(str, tested))}"
        yield Attempt(name, kind, send, makes=kind is Kind.KEY)


def _value(place: tuple[Any, ...], kind: Kind | None, own: Ids, tested: Any) -> Any:
    name = next(part for part in reversed(place) if isinstance(part, str))
    if kind is None:
        value = PLAIN.get(snake(name), 9000 if name in ("id", "ids") else "")
        if isinstance(value, list):
            return ",".join(map(str, value))
        return value.replace(NONCE, NONCES.new()) if isinstance(value, str) else value
    if tested is None:
        return {Kind.PAGE: "", Kind.KEY: NONCES.new()}.get(kind, own.of(kind))
    return f"{own.of(kind)},{tested}" if name.endswith("ids") else tested


def _example(made: dict[str, Any], operation: dict[str, Any]) -> Any:
    if "requestBody" not in operation:
        return None
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    schema = made["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    # An attempt sends the first example; fields that the example leaves out must still be classified.
    for name in _properties(made, schema):
        classify(f"body of {operation['operationId']}", snake(name), "", names_user=True)
    return copy.deepcopy(schema["examples"][0])


def _properties(made: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    for name, one in schema.get("properties", {}).items():
        inner = one.get("items", one)
        for option in (inner, *inner.get("anyOf", ()), *inner.get("allOf", ())):
            if "$ref" in option:
                referred = made["components"]["schemas"][option["$ref"].rpartition("/")[2]]
                if "properties" in referred:
                    yield from _properties(made, referred)
                    break
        else:
            yield name


def _leaves(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*above, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*above, index))
    elif above:
        yield above


def _put(content: Any, place: tuple[Any, ...], value: Any) -> None:
    for part in place[:-1]:
        content = content[part]
    content[place[-1]] = value
