"""Makes a target file to edit from a browser's recording (HAR 1.2)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit

import yaml
from graphql import GraphQLSyntaxError, OperationDefinitionNode, parse

from experiment.errors import UsageError
from experiment.own_target.file import METHODS
from user_files.yaml_file import MAX_BYTES, StrictDumper, YamlFile

LARGEST = 64 << 20
FORM = "application/x-www-form-urlencoded"
Document = dict[str, Any]
Kind = TypeVar("Kind")
_KINDS: Mapping[type, str] = {dict: "a mapping", list: "a list", str: "text"}
SECRET = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_GRAPHQL = {"query", "variables", "operationName", "extensions"}
_MAX_TOKENS = 15_000
_STATUSES = range(100, 600)
_ERROR = re.compile(r"[\w:.-]{1,60}", re.ASCII)
"""Browsers' names for failed requests: `net::ERR_ABORTED`, `NS_BINDING_ABORTED`."""


class _LeftOut(Exception):  # noqa: N818 - the entry is not wrong
    """Raised for an entry of the recording that does not become a step; the text names the kind of entry."""


def write_start(source: Path, out: Path) -> list[str]:
    """Writes a target file, and returns notes; raises UsageError if the recording is invalid, or `out` exists."""
    try:
        if source.stat().st_size > LARGEST:
            raise UsageError(f"{source} is larger than {LARGEST >> 20} MiB")
        text = source.read_text(encoding="utf-8-sig")
        read = json.loads(text) if text.lstrip().startswith("{") else YamlFile(str(source), text, UsageError).data
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is neither JSON nor YAML: {error}") from error
    with _about(str(source)):
        document, notes = from_har(read)
    if not document["journeys"]:
        raise UsageError("; ".join([f"{source} has no request that a target file can have: {METHODS}", *notes]))
    with _about(str(source)):
        text = _file_of(document)
    if len(text.encode()) > MAX_BYTES:
        raise UsageError(f"the target file for {source} exceeds {MAX_BYTES >> 10} KiB; leave requests out of {source}")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{out} already exists; name another file") from error
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    return notes


def _file_of(document: Document) -> str:
    """Returns the text of a target file; raises UsageError if it would be read as another document."""
    text: str = yaml.dump(document, Dumper=StrictDumper, sort_keys=False, allow_unicode=True, width=120)
    text = f"# Edit this: weights, variables, and what answers must be.\n{text}"
    if YamlFile("the target file", text, UsageError).data != document:
        raise UsageError("the target file would have other values than the recording")
    return text


def from_har(har: Any) -> tuple[Document, list[str]]:
    """Makes a target file from the requests that a recording sent to its busiest host, without headers, and notes."""
    steps: list[tuple[SplitResult, Document]] = []
    secrets: set[str] = set()
    left = Counter[str]()
    for number, entry in enumerate(_part(_part(har, "log", dict), "entries", list), start=1):
        with _about(f"entry {number}"):
            request = _part(entry, "request", dict)
            secrets |= {_part(one, "name", str).lower() for one in _part(request, "headers", list, [])} & set(SECRET)
            try:
                steps.append(_step(request, _part(entry, "response", dict, {}), entry))
            except _LeftOut as what:
                left[str(what)] += 1
    hosts = Counter(_host(url) for url, _ in steps)
    kept = max(hosts, key=hosts.__getitem__, default="")
    left.update({f"requests to {host}": requests for host, requests in hosts.items() if host != kept})
    endpoints: dict[str, str] = {}
    own = [
        {**step, "at": endpoints.setdefault(_base_of(url), f"web{len(endpoints) + 1}")}
        for url, step in steps
        if _host(url) == kept
    ]
    left_out = f"headers were left out, {', '.join(sorted(secrets))} among them" if secrets else "headers were left out"
    notes = [f"{left_out}; look for secrets in paths and bodies too"]
    if left:
        notes.append(f"left out: {', '.join(f'{what} ({count})' for what, count in left.items())}")
    journeys = {"visit": {"steps": own}} if own else {}
    targets = {"mine": {"endpoints": {name: base for base, name in endpoints.items()}}}
    return {"name": "recorded", "targets": targets, "journeys": journeys}, notes


def _host(url: SplitResult) -> str:
    """Returns the scheme and host of a URL, which all endpoints of a target share."""
    return f"{url.scheme}://{url.hostname}"


def _step(request: Document, response: Document, entry: Document) -> tuple[SplitResult, Document]:
    method, address = _part(request, "method", str), _part(request, "url", str)
    scheme = address.partition(":")[0].lower()
    if scheme in ("ws", "wss") or response.get("status") == 101 or entry.get("_resourceType") == "websocket":
        raise _LeftOut("WebSockets")
    if scheme not in ("http", "https") or not (url := _split(address)).hostname:
        raise _LeftOut(f"{scheme}: URLs")
    if method not in METHODS.split(", "):
        raise _LeftOut(f"{method} requests")
    status = _status_of_server(response, entry)
    path = _encode(_literal(url.path or "/") + (f"?{_literal(url.query)}" if url.query else ""))
    step = _request(method, path, _part(request, "postData", dict, {}))
    # 304 answers a conditional request, but the step leaves out the request's headers.
    if status != 304 and not 200 <= status < 300:
        step["expect"] = {"status": status}
    return url, step


def _status_of_server(response: Document, entry: Document) -> int:
    """Returns the server's status; raises `_LeftOut` for an entry without an answer from the server.

    HAR has no standard members for that: `_error`, `_fromCache` and `_fetchedViaServiceWorker` come from Chrome,
    `_failureText` from Playwright, and `_fetchType` from Safari.
    """
    status, fetched = response.get("status"), entry.get("_fetchType")
    if entry.get("_fromCache") or fetched in ("Memory Cache", "Disk Cache"):
        raise _LeftOut("requests that the browser's cache answered")
    if entry.get("_fetchedViaServiceWorker") or fetched == "Service Worker":
        raise _LeftOut("requests that a service worker answered")
    if response.get("statusText") == "Internal Redirect":
        raise _LeftOut("redirects to HTTPS that the browser made itself")
    if not isinstance(status, int) or status not in _STATUSES:
        error = str(response.get("_error") or response.get("_failureText") or "")
        raise _LeftOut(f"requests without an answer{f', {error}' if _ERROR.fullmatch(error) else ''}")
    if _kind_of(_part(_part(response, "content", dict, {}), "mimeType", str, "")) == "text/event-stream":
        raise _LeftOut("streams of events")
    return status


def _request(method: str, path: str, sent: Document) -> Document:
    media, text = _part(sent, "mimeType", str, ""), _part(sent, "text", str, "")
    if _kind_of(media).startswith("multipart/"):
        raise _LeftOut("uploads (multipart)")
    if sent.get("encoding"):
        raise _LeftOut("bodies that are not text")
    if not text and (fields := _part(sent, "params", list, [])):
        media = media or FORM
        text = urlencode([(_part(one, "name", str), _part(one, "value", str, "")) for one in fields])
    plain = {"http": f"{method} {path}"}
    if not text:
        return plain
    kind = _kind_of(media)
    body = _json(text) if kind == "application/json" or kind.endswith("+json") else None
    if method == "POST" and isinstance(body, dict) and _is_graphql(body):
        return {"graphql": body["query"], "path": path, "variables": _escape(body.get("variables") or {})}
    structured = isinstance(body, dict | list)
    # The default header is for structured bodies.
    is_default = not media or (structured and kind == "application/json")
    headers: Document = {} if is_default else {"headers": {"content-type": kind}}
    return {**plain, **headers, "body": _escape(body) if structured else _literal(text)}


def _json(text: str) -> Any:
    """Returns a value; None if the text is not JSON, or a target file cannot have the value, as with deep nesting."""
    try:
        value = json.loads(text)
        _file_of({"journeys": {"visit": {"steps": [{"body": value}]}}})
    except (ValueError, RecursionError, UsageError):
        return None
    return value


def _is_graphql(body: Document) -> bool:
    """Returns whether a GraphQL step can send a body; steps support neither operation names nor extensions."""
    if not set(body) <= _GRAPHQL or body.get("extensions"):
        return False
    if not isinstance(body.get("query"), str) or not isinstance(body.get("variables") or {}, dict):
        return False
    try:
        definitions = parse(body["query"], no_location=True, max_tokens=_MAX_TOKENS).definitions
    except (GraphQLSyntaxError, RecursionError):
        return False
    return sum(isinstance(one, OperationDefinitionNode) for one in definitions) == 1


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Puts the name of a part of the source in front of messages about that part."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from error


def _part(whole: Any, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Returns a member of a mapping, which must have this type; a missing or null member has the default value."""
    if not isinstance(whole, dict):
        raise UsageError(f"{_short(whole)} is not a mapping with {key!r}")
    value = whole.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind):
        raise UsageError(f"{key!r} is {'missing' if value is None else _short(value)}; it must be {_KINDS[kind]}")
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from error
    return parts


def _base_of(url: SplitResult) -> str:
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    return f"{url.scheme}://{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def _kind_of(media: str) -> str:
    """Returns a media type without its parameters."""
    return media.partition(";")[0].strip().lower()


def _encode(path: str) -> str:
    """Percent-encodes characters that paths and queries must not contain; existing encodings stay unchanged."""
    return re.sub(r"[^!-~]|[\"<>#]", lambda one: quote(one[0]), path)


def _literal(text: str) -> str:
    """Escapes a text so that no part of the text is read as a variable."""
    return text.replace("${", "$${")


def _escape(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _escape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_escape(one) for one in value]
    return _literal(value) if isinstance(value, str) else value
