"""Makes a target file to edit from a browser's recording (HAR 1.2)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import SplitResult, urlencode

from graphql import GraphQLSyntaxError, OperationDefinitionNode, parse

from experiment.own_target.file import METHODS
from experiment.own_target.starting_points.document import (
    FORM,
    Document,
    Start,
    about,
    base_of,
    body_as,
    document_of,
    encode,
    escape,
    is_json,
    kind_of,
    literal,
    part,
    split,
)

SECRET = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_GRAPHQL = {"query", "variables", "operationName", "extensions"}
_MAX_TOKENS = 15_000
_STATUSES = range(100, 600)
_ERROR = re.compile(r"[\w:.-]{1,60}", re.ASCII)
"""Browsers' names for failed requests: `net::ERR_ABORTED`, `NS_BINDING_ABORTED`."""


class _LeftOut(Exception):  # noqa: N818 - the entry is not wrong
    """Raised for an entry of the recording that does not become a step; the text names the kind of entry."""


def from_har(har: Any) -> Start:
    """Makes a journey from all requests that a recording sent to its busiest host, without the requests' headers."""
    steps: list[tuple[SplitResult, Document]] = []
    secrets: set[str] = set()
    left = Counter[str]()
    for number, entry in enumerate(part(part(har, "log", dict), "entries", list), start=1):
        with about(f"entry {number}"):
            request = part(entry, "request", dict)
            secrets |= {part(one, "name", str).lower() for one in part(request, "headers", list, [])} & set(SECRET)
            try:
                steps.append(_step(request, part(entry, "response", dict, {}), entry))
            except _LeftOut as what:
                left[str(what)] += 1
    hosts = Counter(_host(url) for url, _ in steps)
    kept = max(hosts, key=hosts.__getitem__, default="")
    left.update({f"requests to {host}": requests for host, requests in hosts.items() if host != kept})
    endpoints: dict[str, str] = {}
    own = [
        {**step, "at": endpoints.setdefault(base_of(url), f"web{len(endpoints) + 1}")}
        for url, step in steps
        if _host(url) == kept
    ]
    left_out = f"headers were left out, {', '.join(sorted(secrets))} among them" if secrets else "headers were left out"
    notes = [f"{left_out}; look for secrets in paths and bodies too"]
    if left:
        notes.append(f"left out: {', '.join(f'{what} ({count})' for what, count in left.items())}")
    journeys = {"visit": {"steps": own}} if own else {}
    return document_of("recorded", {name: base for base, name in endpoints.items()}, journeys), notes


def _host(url: SplitResult) -> str:
    """Returns the scheme and host of a URL, which all endpoints of a target share."""
    return f"{url.scheme}://{url.hostname}"


def _step(request: Document, response: Document, entry: Document) -> tuple[SplitResult, Document]:
    method, address = part(request, "method", str), part(request, "url", str)
    scheme = address.partition(":")[0].lower()
    if scheme in ("ws", "wss") or response.get("status") == 101 or entry.get("_resourceType") == "websocket":
        raise _LeftOut("WebSockets")
    if scheme not in ("http", "https") or not (url := split(address)).hostname:
        raise _LeftOut(f"{scheme}: URLs")
    if method not in METHODS.split(", "):
        raise _LeftOut(f"{method} requests")
    status = _status_of_server(response, entry)
    path = encode(literal(url.path or "/") + (f"?{literal(url.query)}" if url.query else ""))
    step = _request(method, path, part(request, "postData", dict, {}))
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
    if kind_of(part(part(response, "content", dict, {}), "mimeType", str, "")) == "text/event-stream":
        raise _LeftOut("streams of events")
    return status


def _request(method: str, path: str, sent: Document) -> Document:
    media, text = part(sent, "mimeType", str, ""), part(sent, "text", str, "")
    if kind_of(media).startswith("multipart/"):
        raise _LeftOut("uploads (multipart)")
    if sent.get("encoding"):
        raise _LeftOut("bodies that are not text")
    if not text and (fields := part(sent, "params", list, [])):
        media = media or FORM
        text = urlencode([(part(one, "name", str), part(one, "value", str, "")) for one in fields])
    plain = {"http": f"{method} {path}"}
    if not text:
        return plain
    body = _json(text) if is_json(media) else None
    if method == "POST" and isinstance(body, dict) and _is_graphql(body):
        return {"graphql": body["query"], "path": path, "variables": escape(body.get("variables") or {})}
    return plain | body_as(media, escape(body) if isinstance(body, dict | list) else literal(text))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
