"""Traces from the query APIs of Jaeger, Tempo and Zipkin, or from any address that answers with traces."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from hops.errors import SourceError
from hops.sources import LIMIT
from hops.sources.files import read_file
from hops.sources.http import NotFoundError, get, get_json
from hops.traces.span import Span

AT_ONCE = 4
"""Maximum number of concurrent requests."""
_UI_TRACE = re.compile(r"(?P<base>https?://[^?#]*?)/trace/(?P<id>[0-9a-fA-F]{1,32})/?(?:[?#].*)?")
_JAEGERS = re.compile(r"(?P<base>https?://[^?#]*?)/api/(?:v3/)?traces(?:[/?].*)?")
_JAEGERS_ANSWER = re.compile(rb'\s*\{\s*"(?:data|result)"')
"""Beginning of Jaeger's answers; Tempo's answers at the same paths begin differently."""
_HEAD = 64
_AGO = re.compile(r"(?P<count>\d{1,9})(?P<unit>[smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NS_PER_S = 1_000_000_000
_PROTOBUF = "application/protobuf"


class Query(msgspec.Struct, frozen=True):
    """The traces to request.

    Args:
        since_ns: Unix time of the earliest start, ns.
        until_ns: Unix time of the latest start, ns; 0 for now.
        trace_ids: Ids of traces, instead of all of the above.
    """

    service: str = ""
    operation: str = ""
    since_ns: int = 0
    until_ns: int = 0
    limit: int = LIMIT
    trace_ids: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}

    @property
    def ends_ns(self) -> int:
        """The latest requested start, Unix time, ns."""
        return self.until_ns or time.time_ns()


class Answer(msgspec.Struct):
    """One answer of an API.

    Args:
        jaeger: Address of the Jaeger whose UI shows these traces; empty for other systems.
        is_search: Whether the answer has one or all results of a search, not traces requested by id.
    """

    url: str
    batches: Iterator[tuple[str, list[Span]]]
    jaeger: str = ""
    is_search: bool = False


class _Services(msgspec.Struct):
    data: list[str] | None = None


class _FoundTrace(msgspec.Struct):
    traceID: str  # noqa: N815 - Tempo's spelling


class _Found(msgspec.Struct):
    traces: list[_FoundTrace] | None = None


def moment_ns(text: str, what: str) -> int:
    """Converts how long ago (`30m`, `2h`, `1d`), or ISO 8601 (UTC), to Unix time, ns; raises `SourceError`."""
    try:
        if ago := _AGO.fullmatch(text):
            ns = time.time_ns() - int(ago["count"]) * _SECONDS[ago["unit"]] * _NS_PER_S
        else:
            moment = datetime.fromisoformat(text)
            ns = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6) * 1000
    except (ValueError, OverflowError) as error:
        raise SourceError(
            f"{what} {text}: give how long ago, such as 30s, 15m, 2h or 1d, or a time such as 2026-05-01T12:00:00Z"
        ) from error
    if ns < 0:
        raise SourceError(f"{what} {text}: this is before 1970; give a later time")
    return ns


def header_of(text: str) -> tuple[str, str]:
    """Parses a header from `Name: value`; raises `SourceError` if it is not a valid header."""
    name, colon, value = text.partition(":")
    if not (colon and name.strip() and value.isprintable() and name.isascii()):
        raise SourceError("--header: give NAME:VALUE, such as 'Authorization: Bearer …'")
    return name.strip(), value.strip()


def is_url(source: str) -> bool:
    """Whether a source is an address."""
    return source.startswith(("http://", "https://"))


def answers(source: str, forced: str, query: Query) -> Iterator[Answer]:
    """Requests the traces from the API at an address.

    Args:
        source: Base address of a Jaeger, Tempo or Zipkin; address of a trace in Jaeger's UI; or any address below
            `/api/`, which is requested unchanged.

    Raises:
        SourceError: None of these APIs answers, or a needed option is missing; the message names the choices.
    """
    source = source.rstrip("/")
    try:
        path = urlsplit(source).path
    except ValueError as error:
        raise SourceError(f"{source}: is not a valid address: {error}") from error
    if in_ui := _UI_TRACE.fullmatch(source):
        query = msgspec.structs.replace(query, trace_ids=(in_ui["id"],))
        source = in_ui["base"]
    elif "/api/" in path + "/":
        answer = get(source, query.headers, accept=f"application/json, {_PROTOBUF}")
        jaeger = _JAEGERS.fullmatch(source) if _JAEGERS_ANSWER.match(answer.read(_HEAD)) else None
        answer.seek(0)
        yield Answer(source, _read(answer, source, forced), jaeger["base"] if jaeger else "")
        return
    for one in api_at(source, query)(source, query):
        one.is_search = not query.trace_ids
        yield one


def api_at(base: str, query: Query) -> Callable[[str, Query], Iterator[Answer]]:
    """Finds the API at an address by requests that only it understands; raises `SourceError`, with what was tried."""
    tried = []
    for path, is_it, ask in _APIS:
        try:
            with get(f"{base}{path}", query.headers, accept="*/*") as answer:
                if is_it(answer.read(1 << 20)):
                    return ask
            tried.append(f"{path}: an unexpected answer")
        except NotFoundError:
            tried.append(f"{path}: 404")
    raise SourceError(
        f"{base}: neither Jaeger, Zipkin nor Tempo answers there ({'; '.join(tried)}); give the API's base address, "
        "or the whole address of an answer below /api/"
    )


def _jaeger(base: str, query: Query) -> Iterator[Answer]:
    if query.trace_ids:
        yield from _each(query.trace_ids, "traces/", lambda path: _jaeger_answer(base, path, path, query))
        return
    services = services_of(base, query.headers)
    if query.service not in services:
        unknown = f"there is no service {query.service!r}" if query.service else "--service is missing"
        raise SourceError(f"{base}: Jaeger needs the name of a service: {unknown}; {_has(services)}")
    asked = {
        "service_name": query.service,
        "operation_name": query.operation,
        "start_time_min": _rfc3339(query.since_ns),
        "start_time_max": _rfc3339(query.ends_ns),
        "search_depth": query.limit,
    }
    # Versions of the API spell these names differently, and ignore names that they do not know.
    newer: dict[str, Any] = {"query.num_traces": query.limit}
    for name, value in asked.items():
        first, *others = name.split("_")
        newer |= {f"query.{name}": value, f"query.{first}{''.join(map(str.capitalize, others))}": value}
    older = {
        "service": query.service,
        "operation": query.operation,
        "start": query.since_ns // 1000,
        "end": query.ends_ns // 1000,
        "limit": query.limit,
    }
    yield _jaeger_answer(base, f"traces?{_encode(newer)}", f"traces?{_encode(older)}", query)


def services_of(jaeger: str, headers: Mapping[str, str]) -> list[str]:
    """Requests the names of the services that a Jaeger has traces of; raises `SourceError`."""
    return get_json(f"{jaeger}/api/services", headers, _Services).data or []


def _has(services: Iterable[str]) -> str:
    return f"it has {', '.join(sorted(services)) or 'none'}"


def _jaeger_answer(base: str, newer: str, older: str, query: Query) -> Answer:
    """Requests through the newer API, which keeps nanoseconds, or through the older API if there is no newer one."""
    url = f"{base}/api/v3/{newer}"
    try:
        answer = get(url, query.headers)
        begins = answer.read(1)
        answer.seek(0)
        if begins == b"{":
            return Answer(url, _read(answer, url), base)
        answer.close()  # a page of the UI, from a Jaeger without the newer API
    except NotFoundError:
        pass
    url = f"{base}/api/{older}"
    return Answer(url, _read(get(url, query.headers), url), base)


def _zipkin(base: str, query: Query) -> Iterator[Answer]:
    if query.trace_ids:
        yield from _each(
            query.trace_ids, f"{base}/api/v2/trace/", lambda url: Answer(url, _read(get(url, query.headers), url))
        )
        return
    if query.service:
        services = get_json(f"{base}/api/v2/services", query.headers, list[str])
        if query.service.lower() not in services:  # Zipkin keeps all names in lower case
            raise SourceError(f"{base}: there is no service {query.service!r}; {_has(services)}")
    asked = {
        "serviceName": query.service,
        "spanName": query.operation,
        "endTs": query.ends_ns // 1_000_000,
        "lookback": max(1, (query.ends_ns - query.since_ns) // 1_000_000),
        "limit": query.limit,
    }
    url = f"{base}/api/v2/traces?{_encode(asked)}"
    yield Answer(url, _read(get(url, query.headers), url))


def _tempo(base: str, query: Query) -> Iterator[Answer]:
    trace_ids: Iterable[str] = query.trace_ids
    if not trace_ids:
        wanted = [
            f"{name} = {_quote(value)}"
            for name, value in (("resource.service.name", query.service), ("name", query.operation))
            if value
        ]
        asked = {
            "q": f"{{ {' && '.join(wanted)} }}",
            "start": query.since_ns // _NS_PER_S,
            "end": -(-query.ends_ns // _NS_PER_S),
            "limit": query.limit,
        }
        found = get_json(f"{base}/api/search?{_encode(asked)}", query.headers, _Found)
        trace_ids = [trace.traceID for trace in found.traces or []]

    yield from _each(
        trace_ids,
        f"{base}/api/traces/",
        lambda url: Answer(url, _read(get(url, query.headers, accept=_PROTOBUF), url)),
    )


def _each(trace_ids: Iterable[str], path: str, ask: Callable[[str], Answer]) -> Iterator[Answer]:
    """Requests traces by id, a few in parallel; a trace that cannot be read becomes an answer with the error."""

    def answer(url: str) -> Answer:
        try:
            return ask(url)
        except SourceError as error:
            return Answer(url, _raise(error))

    urls = iter([f"{path}{quote(trace_id)}" for trace_id in trace_ids])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(urls, AT_ONCE)):
            yield from pool.map(answer, some)


def _raise(error: SourceError) -> Iterator[tuple[str, list[Span]]]:
    raise error
    yield


def _read(answer: IO[bytes], url: str, forced: str = "") -> Iterator[tuple[str, list[Span]]]:
    with answer:
        yield from read_file(answer, url, forced)


def _encode(asked: Mapping[str, Any]) -> str:
    return urlencode({name: value for name, value in asked.items() if value != ""})


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rfc3339(ns: int) -> str:
    return datetime.fromtimestamp(ns // _NS_PER_S, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{ns % _NS_PER_S:09}Z"


def _is_json(kind: type, key: str, body: bytes) -> bool:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(value, kind) and (not key or (isinstance(value, dict) and key in value))


_APIS: tuple[tuple[str, Callable[[bytes], bool], Callable[[str, Query], Iterator[Answer]]], ...] = (
    ("/api/services", partial(_is_json, dict, "data"), _jaeger),
    ("/api/v2/services", partial(_is_json, list, ""), _zipkin),
    ("/api/echo", lambda body: body.strip() == b"echo", _tempo),
)
