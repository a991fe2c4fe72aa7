"""A target file to edit, from a description of an API (OpenAPI 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from experiment.errors import UsageError
from experiment.own_target.file import METHODS
from experiment.own_target.starting_points.document import (
    FORM,
    Document,
    Start,
    about,
    base_of,
    document_of,
    encoded,
    escaped,
    is_json,
    kind_of,
    literal,
    part,
    sent_as,
    split,
)
from mesh.description.topology import LONGEST_NAME

NO_SERVER = "http://127.0.0.1:8000"
_DEPTH = 6
_MADE_UP = {"string": "text", "integer": 1, "number": 1, "boolean": True, "null": None}
_FORMATS = {
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "somebody@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
}
"""Texts of the formats that servers check."""
_IGNORED = ("accept", "content-type", "authorization")
"""Header parameters that OpenAPI leaves to other parts of a description."""


@dataclass
class _Api:
    """A description, and what its reader should know of what is made of it.

    Attributes:
        document: The description.
        unknown: Variables of which it has no example.
        notes: What could not be written.
    """

    document: Document
    unknown: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def resolved(self, described: Any) -> Any:
        """What a reference leads to.

        Raises:
            UsageError: It leads to another file, or nowhere.
        """
        for _ in range(_DEPTH):
            if not isinstance(described, dict) or "$ref" not in described:
                break
            reference = str(described["$ref"])
            if not reference.startswith("#"):
                raise UsageError(f"$ref {reference} leads to another file; bundle the description into one first")
            target: Any = self.document
            for key in reference.removeprefix("#").removeprefix("/").split("/"):
                plain = key.replace("~1", "/").replace("~0", "~")
                if not isinstance(target, dict) or plain not in target:
                    raise UsageError(f"$ref {reference} leads nowhere")
                target = target[plain]
            described = target
        return described


def from_openapi(document: Any) -> Start:
    """A journey for each operation; those that change something have the weight 0, so that none is sent unasked.

    Raises:
        UsageError: It is no such description; names the operation and why.
    """
    if isinstance(document, dict) and "swagger" in document:
        raise UsageError(f"this is Swagger {document['swagger']}; convert it to OpenAPI 3 first")
    if not str(version := part(document, "openapi", str)).startswith("3."):
        raise UsageError(f"this is OpenAPI {version}; it must be 3")
    api = _Api(document)
    url = split(_server(api))
    journeys: Document = {}
    for path, method, item, operation in _operations(api):
        with about(f"{method} {path}"):
            step = _step(api, method, url.path.rstrip("/") + path, item, operation)
            name = _unlike(journeys, _named(part(operation, "operationId", str, f"{method} {path}")))
        journeys[name] = {**({} if method in ("GET", "HEAD") else {"weight": 0}), "steps": [step]}
    notes = ["operations that change something have the weight 0; give one to those that you want to send", *api.notes]
    if api.unknown:
        notes.append(f"no example gives {', '.join(sorted(api.unknown))}: give a table with a column for each")
    base = base_of(url) if url.scheme and url.hostname else NO_SERVER
    if base == NO_SERVER:
        notes.append(f"no server is named: the endpoint is {base}")
    title = part(document, "info", dict, {}).get("title")
    return document_of(_named(str(title or "api")), {"web": base}, journeys), notes


def _server(api: _Api) -> str:
    """The first server's URL, with the defaults of its variables."""
    servers = part(api.document, "servers", list, [])
    if not servers:
        return ""
    with about("servers"):
        variables = part(servers[0], "variables", dict, {})
        filled = {name: str(part(variables, name, dict).get("default", "")) for name in variables}
        return re.sub(r"\{([^}]+)\}", lambda one: filled.get(one[1], one[0]), part(servers[0], "url", str))


def _operations(api: _Api) -> Iterator[tuple[str, str, Document, Document]]:
    paths = part(api.document, "paths", dict)
    for path in (one for one in paths if str(one).startswith("/")):
        with about(str(path)):
            item = api.resolved(part(paths, path, dict, {}))
            methods = [method for method in METHODS.split(", ") if method.lower() in item]
            operations = [(method, part(item, method.lower(), dict)) for method in methods]
        for method, operation in operations:
            yield str(path), method, item, operation


def _step(api: _Api, method: str, path: str, item: Document, operation: Document) -> Document:
    given = [api.resolved(one) for of in (item, operation) for one in part(of, "parameters", list, [])]
    parameters = {(part(one, "in", str), part(one, "name", str)): one for one in given}
    step: Document = {"http": f"{method} {encoded(_path(api, path, parameters))}"}
    headers = _headers(api, parameters)
    sent = _body(api, step["http"], api.resolved(part(operation, "requestBody", dict, {})))
    if headers or "headers" in sent:
        step["headers"] = headers | sent.pop("headers", {})
    step |= sent
    answers = [str(status) for status in part(operation, "responses", dict, {})]
    good = [status for status in answers if re.fullmatch(r"[23]\d\d", status)]
    if len(good) == 1 and good != ["200"]:
        step["expect"] = {"status": int(good[0])}
    return step


def _path(api: _Api, path: str, parameters: dict[tuple[str, str], Document]) -> str:
    def filled(one: re.Match[str]) -> str:
        parameter = parameters.get(("path", one[1]), {"name": one[1]})
        return _value(api, parameter, lambda value: quote(_simple(value), safe=","))

    path = re.sub(r"\{([^}]+)\}", filled, path)
    query = [
        _query(api, parameter)
        for (place, _), parameter in parameters.items()
        if place == "query" and parameter.get("required")
    ]
    return f"{path}?{'&'.join(filter(None, query))}".rstrip("?")


def _headers(api: _Api, parameters: dict[tuple[str, str], Document]) -> dict[str, str]:
    wanted = [(place, name, one) for (place, name), one in parameters.items() if one.get("required")]
    headers = {
        name: _value(api, one, _simple)
        for place, name, one in wanted
        if place == "header" and name.lower() not in _IGNORED
    }
    cookies = [f"{name}={_value(api, one, _simple)}" for place, name, one in wanted if place == "cookie"]
    return headers | ({"cookie": "; ".join(cookies)} if cookies else {})


def _query(api: _Api, parameter: Document) -> str:
    """A parameter in the style `form`: a list gives its name once for each value, unless `explode` is off."""
    name, explode = quote(parameter["name"], safe=""), parameter.get("explode", True)

    def pairs(value: Any) -> str:
        if explode and isinstance(value, list):
            return urlencode([(parameter["name"], _simple(one)) for one in value], quote_via=quote)
        if explode and isinstance(value, dict):
            deep = parameter.get("style") == "deepObject"
            members = {f"{parameter['name']}[{key}]" if deep else key: _simple(one) for key, one in value.items()}
            return urlencode(members, quote_via=quote)
        return f"{name}={quote(_simple(value), safe=',')}"

    return _value(api, parameter, pairs, f"{name}=")


def _value(api: _Api, parameter: Document, written: Callable[[Any], str], before: str = "") -> str:
    """An example of a parameter as it is written, or a variable behind `before` if there is none."""
    content = part(parameter, "content", dict, {})
    described = next(iter(content.values()), {}) if content else parameter
    example = _example(api, described, made_up=False)
    if example is None:
        variable = re.sub(r"\W|^(?=\d)", "_", part(parameter, "name", str), flags=re.ASCII)
        api.unknown.add(variable)
        return f"{before}${{{variable}}}"
    return literal(written(json.dumps(example, default=str) if content else example))


def _simple(value: Any) -> str:
    """A value as one text; the members of a list or an object have commas between them."""
    if isinstance(value, dict):
        return ",".join(_simple(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return ",".join(map(_simple, value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _body(api: _Api, request: str, described: Document) -> Document:
    content = part(described, "content", dict, {})
    media = next((one for wanted in (_is_plain, is_json, _is_form) for one in content if wanted(one)), None)
    if media is None:
        if content:
            api.notes.append(f"{request} has no body: its description has {', '.join(content)} only")
        return {}
    example = _example(api, content[media])
    if _is_form(media):
        fields = example if isinstance(example, dict) else {}
        return sent_as(FORM, literal(urlencode({name: _simple(one) for name, one in fields.items()})))
    return sent_as(media, escaped(example if isinstance(example, dict | list) else json.dumps(example)))


def _is_plain(media: str) -> bool:
    return kind_of(media) == "application/json"


def _is_form(media: str) -> bool:
    return kind_of(media) == FORM


def _example(api: _Api, described: Any, *, made_up: bool = True, depth: int = 0) -> Any:
    """An example of what a schema, a parameter or a body describes; None if there is none and none may be made up."""
    described = api.resolved(described)
    if not isinstance(described, dict):  # a schema may be true or false
        return None
    if (given := _given(api, described)) is not None:
        return given
    if "schema" in described:
        return _example(api, described["schema"], made_up=made_up, depth=depth)
    for key in ("default", "const"):
        if key in described:
            return described[key]
    if values := part(described, "enum", list, []):
        return values[0]
    kinds = described.get("type") or "object"
    kind = next((one for one in kinds if one != "null"), "null") if isinstance(kinds, list) else str(kinds)
    if made_up and kind in _MADE_UP:
        return _FORMATS.get(str(described.get("format")), _MADE_UP[kind]) if kind == "string" else _MADE_UP[kind]
    if depth > _DEPTH:
        return ([] if kind == "array" else {}) if made_up else None
    for key in ("oneOf", "anyOf"):
        if choices := part(described, key, list, []):
            return _example(api, choices[0], made_up=made_up, depth=depth + 1)
    every = [_example(api, one, made_up=made_up, depth=depth + 1) for one in part(described, "allOf", list, [])]
    parts = [one for one in every if one is not None]
    if not made_up or not all(isinstance(one, dict) for one in parts):
        return next(iter(parts), None)
    if kind == "object":
        inside = {
            name: one
            for name, one in part(described, "properties", dict, {}).items()
            if not _is_read_only(api.resolved(one))
        }
        own = {str(name): _example(api, one, depth=depth + 1) for name, one in inside.items()}
        return {name: value for one in (*parts, own) for name, value in one.items()}
    return [_example(api, described.get("items", {}), depth=depth + 1)] if kind == "array" else None


def _is_read_only(described: Any) -> bool:
    """Whether only answers have it."""
    return isinstance(described, dict) and described.get("readOnly") is True


def _given(api: _Api, described: Document) -> Any:
    """The example that a description gives."""
    if "example" in described:
        return described["example"]
    examples = described.get("examples")
    if isinstance(examples, dict) and examples:
        return api.resolved(next(iter(examples.values()))).get("value")
    return examples[0] if isinstance(examples, list) and examples else None


def _named(text: str) -> str:
    return "-".join(re.findall(r"[A-Za-z0-9]+", text))[:LONGEST_NAME].strip("-") or "journey"


def _unlike(names: Document, name: str) -> str:
    """The name, with a number behind it if there is such a name already."""
    number, unlike = 1, name
    while unlike in names:
        number += 1
        unlike = f"{name[: LONGEST_NAME - len(str(number)) - 1].strip('-')}-{number}"
    return unlike
