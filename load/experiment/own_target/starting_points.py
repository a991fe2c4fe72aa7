"""A target file to edit, from a recording of a browser (HAR) or a description of an API (OpenAPI 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import yaml

from experiment.errors import UsageError
from experiment.own_target.file import METHODS
from mesh.description.topology import LONGEST_NAME
from mesh.description.yaml_lines import MOST_BYTES, YamlError, load_yaml

LARGEST = 64 << 20
SECRET = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_JSON = "application/json"
_DEPTH = 6
Document = dict[str, Any]


def write_start(source: Path, made: Callable[[Any], tuple[Document, list[str]]], out: Path) -> list[str]:
    """Writes a target file.

    Args:
        source: The recording or description.
        made: `from_har` or `from_openapi`.
        out: The file to write, which is not there yet.

    Returns:
        What its reader should know.

    Raises:
        UsageError: The source is not what it should be, or the file is there already.
    """
    try:
        if source.stat().st_size > LARGEST:
            raise UsageError(f"{source} has more than {LARGEST >> 20} MiB")
        text = source.read_text(encoding="utf-8-sig")
        read = json.loads(text) if text.lstrip().startswith("{") else load_yaml(text, str(source))
        document, notes = made(read)
    except (OSError, UnicodeDecodeError, YamlError, RecursionError) as error:
        raise UsageError(f"{source}: cannot be read: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        kind = "a HAR file" if made is from_har else "an OpenAPI 3 document"
        raise UsageError(f"{source} is not {kind}: {type(error).__name__} {error}") from error
    if not document["journeys"]:
        raise UsageError(f"{source} has no request that a target file can have: {METHODS}")
    text = "# Edit this: weights, variables, and what answers must be.\n" + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=120
    )
    if len(text.encode()) > MOST_BYTES:
        raise UsageError(f"{source} gives a target file of more than {MOST_BYTES >> 10} KiB: leave requests out of it")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{out} is there already; name another file") from error
    return notes


def from_har(har: Any) -> tuple[Document, list[str]]:
    """One journey with all requests of a recording, without their headers, and what was left out."""
    endpoints: dict[str, str] = {}
    steps, dropped = [], set()
    for entry in har["log"]["entries"]:
        request, url = entry["request"], urlsplit(entry["request"]["url"])
        if url.scheme not in ("http", "https") or request["method"] not in METHODS.split(", "):
            continue
        dropped |= {name for header in request.get("headers", ()) if (name := header["name"].lower()) in SECRET}
        base = _base(url)
        at = endpoints.setdefault(base, f"web{len(endpoints) + 1}")
        path = _literal(url.path or "/") + (f"?{_literal(url.query)}" if url.query else "")
        step = _request(request["method"], path, request.get("postData") or {})
        status = int(entry.get("response", {}).get("status", 0))
        if status and not 200 <= status < 300:
            step["expect"] = {"status": status}
        steps.append({**step, "at": at})
    document = _document(
        "recorded", {name: base for base, name in endpoints.items()}, {"visit": {"steps": steps}} if steps else {}
    )
    said = f"headers were left out, {', '.join(sorted(dropped))} among them" if dropped else "headers were left out"
    return document, [f"{said}; look for secrets in paths and bodies too"]


def _base(url: SplitResult) -> str:
    return f"{url.scheme}://{url.hostname}:{url.port or (443 if url.scheme == 'https' else 80)}"


def _request(method: str, path: str, sent: Mapping[str, Any]) -> Document:
    text, kind = sent.get("text") or "", str(sent.get("mimeType", "")).partition(";")[0]
    if not text:
        return {"http": f"{method} {path}"}
    body = None
    if kind == _JSON or kind.endswith("+json"):
        try:
            body = json.loads(text)
        except ValueError:
            body = None
    if method == "POST" and isinstance(body, dict) and isinstance(body.get("query"), str):
        return {"graphql": body["query"], "path": path, "variables": _escaped(body.get("variables") or {})}
    if isinstance(body, dict | list):
        return {"http": f"{method} {path}", "body": _escaped(body)}
    return {"http": f"{method} {path}", "headers": {"content-type": kind}, "body": _literal(text)}


def from_openapi(api: Any) -> tuple[Document, list[str]]:
    """A journey for each operation; those that change something have the weight 0, so that none is sent unasked."""
    if not str(api["openapi"]).startswith("3"):
        raise ValueError(f"version {api['openapi']}")
    server = str((api.get("servers") or [{"url": ""}])[0]["url"])
    url = urlsplit(server)
    base = _base(url) if url.hostname else ""
    journeys: Document = {}
    open_variables = set()
    for path, item in api["paths"].items():
        for method in (one for one in METHODS.split(", ") if one.lower() in item):
            operation = item[method.lower()]
            given = [_resolved(api, one) for one in (*item.get("parameters", ()), *operation.get("parameters", ()))]
            step: Document = {"http": f"{method} {url.path.rstrip('/')}{_filled(api, path, given)}"}
            content = _resolved(api, operation.get("requestBody") or {}).get("content", {}).get(_JSON)
            if content is not None:
                step["body"] = _escaped(_example(api, content))
            open_variables |= set(re.findall(r"\$\{(\w+)\}", step["http"]))
            name = _named(operation.get("operationId") or f"{method} {path}")
            journeys[name] = {**({} if method in ("GET", "HEAD") else {"weight": 0}), "steps": [step]}
    notes = ["operations that change something have the weight 0; give one to those that you want to send"]
    if open_variables:
        notes.append(f"no example gives {', '.join(sorted(open_variables))}: give a table with a column for each")
    if not base:
        base = "http://127.0.0.1:8000"
        notes.append(f"no server is named: the endpoint is {base}")
    title = _named(str(api.get("info", {}).get("title") or "api"))
    return _document(title, {"web": base}, journeys), notes


def _filled(api: Document, path: str, given: list[Document]) -> str:
    """A path with examples of its parameters, or variables where there are none."""
    query = []
    examples = {}
    for parameter in given:
        example = parameter.get("example", _example(api, parameter, made_up=False))
        name = re.sub(r"\W", "_", str(parameter["name"]))
        value = f"${{{name}}}" if example is None else _literal(str(example))
        examples[str(parameter["name"])] = value
        if parameter.get("in") == "query" and parameter.get("required"):
            query.append(f"{parameter['name']}={value}")
    for name in re.findall(r"\{([^}]+)\}", path):
        plain = re.sub(r"\W", "_", name)
        path = path.replace("{" + name + "}", examples.get(name, f"${{{plain}}}"))
    return path + (f"?{'&'.join(query)}" if query else "")


def _example(api: Document, described: Document, *, made_up: bool = True, depth: int = 0) -> Any:
    """An example of what a schema, a parameter or a body describes; None if there is none and none may be made up."""
    described = _resolved(api, described)
    if "example" in described:
        return described["example"]
    if named := described.get("examples"):
        first = next(iter(named.values())) if isinstance(named, dict) else named[0]
        return first.get("value") if isinstance(named, dict) else first
    if "schema" in described:
        return _example(api, described["schema"], made_up=made_up, depth=depth)
    for key in ("default", "const"):
        if key in described:
            return described[key]
    if described.get("enum"):
        return described["enum"][0]
    if not made_up or depth > _DEPTH:
        return None
    for key in ("allOf", "oneOf", "anyOf"):
        if described.get(key):
            return _example(api, described[key][0], depth=depth + 1)
    kind = described.get("type", "object")
    if kind == "object":
        inside = described.get("properties", {})
        return {name: _example(api, one, depth=depth + 1) for name, one in inside.items()}
    if kind == "array":
        return [_example(api, described.get("items", {}), depth=depth + 1)]
    return {"string": "text", "integer": 1, "number": 1, "boolean": True}.get(kind)


def _resolved(api: Document, described: Document) -> Document:
    """What a local reference leads to."""
    for _ in range(_DEPTH):
        reference = described.get("$ref")
        if reference is None:
            break
        found: Any = api
        for key in reference.removeprefix("#/").split("/"):
            found = found[key.replace("~1", "/").replace("~0", "~")]
        described = found
    return described


def _document(name: str, endpoints: Mapping[str, str], journeys: Document) -> Document:
    return {"name": name, "targets": {"mine": {"endpoints": dict(endpoints)}}, "journeys": journeys}


def _named(text: str) -> str:
    return "-".join(re.findall(r"[A-Za-z0-9]+", text))[:LONGEST_NAME].strip("-") or "journey"


def _literal(text: str) -> str:
    """A text in which nothing is a variable."""
    return text.replace("${", "$${")


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_escaped(one) for one in value]
    return _literal(value) if isinstance(value, str) else value
