"""The query APIs of Tempo and Zipkin, imitated, and the messages about answers that are not traces.

Jaeger's real API is tested in tests/integration."""

from __future__ import annotations

import json

import pytest
from fake_api import serving

from hops.errors import SourceError
from hops.sources import http
from hops.sources.query import Query, header_of, moment_ns
from hops.sources.trace_set import read_sources
from synthetic.formats import foreign_trace, jaeger_trace, otlp_message, zipkin_trace
from synthetic.traces import otlp_document

TRACES = {trace[0].trace_id: trace for trace in (foreign_trace(seed, 12) for seed in (1, 2))}
FIRST = next(iter(TRACES))


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # APIs on this machine are asked without it
    monkeypatch.delenv("no_proxy", raising=False)
    with serving() as server:
        yield server


def test_tempo_is_asked_for_ids_and_then_for_traces(api):
    api.routes = {
        "/api/echo": (200, b"echo"),
        "/api/search": (200, json.dumps({"traces": [{"traceID": one.lstrip("0")} for one in TRACES]}).encode()),
        **{f"/api/traces/{one.lstrip('0')}": (200, otlp_message(trace)) for one, trace in TRACES.items()},
    }
    read = read_sources(
        [api.url], query=Query(service='a"b', operation="get", since_ns=5_000_000_000, until_ns=9_000_000_001)
    )
    assert read.traces.keys() == TRACES.keys()
    (search,) = [query for path, query, _ in api.asked if path == "/api/search"]
    assert search["q"] == ['{ resource.service.name = "a\\"b" && name = "get" }']
    assert (search["start"], search["end"]) == (["5"], ["10"])
    assert read.jaeger == ""


def test_a_trace_that_tempo_has_lost_keeps_no_other_from_being_read(api):
    api.routes = {"/api/echo": (200, b"echo"), f"/api/traces/{FIRST}": (200, otlp_message(TRACES[FIRST]))}
    read = read_sources([api.url], query=Query(trace_ids=(FIRST, "b" * 32)))
    assert read.traces.keys() == {FIRST}
    assert "1 input was read, 1 input was refused (OTLP protobuf): 12 spans in 1 trace." in read.said
    assert f"/api/traces/{'b' * 32} answered 404" in read.said


def test_zipkin_is_asked_for_a_window(api):
    body = json.dumps([zipkin_trace(trace) for trace in TRACES.values()]).encode()
    api.routes = {"/api/v2/services": (200, b'["a", "b"]'), "/api/v2/traces": (200, body)}
    read = read_sources([api.url], query=Query(service="a", since_ns=1_000_000_000, until_ns=4_000_000_000, limit=7))
    assert read.traces.keys() == TRACES.keys()
    assert api.asked[-1][1] == {"serviceName": ["a"], "endTs": ["4000"], "lookback": ["3000"], "limit": ["7"]}


def older_jaeger(api):
    body = json.dumps({"data": [jaeger_trace(trace) for trace in TRACES.values()]}).encode()
    api.routes = {
        "/api/services": (200, b'{"data": ["edge", "order"]}'),
        "/api/v3/traces": (200, b"<!doctype html>"),
        "/api/traces": (200, body),
    }


def test_an_older_jaeger_is_asked_by_its_older_api(api):
    older_jaeger(api)
    read = read_sources([api.url], query=Query(service="edge", since_ns=1_000, until_ns=9_000))
    assert read.traces.keys() == TRACES.keys()
    assert read.jaeger == api.url
    assert {name: api.asked[-1][1][name] for name in ("start", "end")} == {"start": ["1"], "end": ["9"]}


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ("", "--service is missing; it has edge, order"),
        ("Edge", "there is no service 'Edge'; it has edge, order"),
        ("shop", "there is no service 'shop'; it has edge, order"),
    ],
)
def test_jaeger_needs_a_service_and_names_those_that_it_has(api, service, said):
    older_jaeger(api)
    assert said in read_sources([api.url], query=Query(service=service)).said


def test_zipkin_names_the_services_that_it_has(api):
    api.routes = {"/api/v2/services": (200, b'["b", "a"]')}
    assert "there is no service 'Shop'; it has a, b" in read_sources([api.url], query=Query(service="Shop")).said


def test_as_many_traces_as_the_limit_may_be_not_all(api):
    older_jaeger(api)
    for limit, more in ((3, []), (2, [f"{api.url}: it gave as many traces as --limit 2 allows, and may have more."])):
        read = read_sources([api.url], query=Query(service="edge", limit=limit))
        assert read.limited == more
        assert read.said.splitlines()[1:] == more
    assert not read_sources([f"{api.url}/api/traces?service=edge"], query=Query(limit=2)).limited


def test_a_trace_that_a_search_found_counts_for_the_limit_even_if_it_cannot_be_read(api):
    api.routes = {
        "/api/echo": (200, b"echo"),
        "/api/search": (200, json.dumps({"traces": [{"traceID": FIRST}, {"traceID": "b" * 32}]}).encode()),
        f"/api/traces/{FIRST}": (200, otlp_message(TRACES[FIRST])),
    }
    for broken in ((404, b""), (200, b"?")):
        api.routes[f"/api/traces/{'b' * 32}"] = broken
        read = read_sources([api.url], query=Query(limit=2))
        assert read.limited == [f"{api.url}: it gave as many traces as --limit 2 allows, and may have more."]
        assert not read_sources([api.url], query=Query(limit=3)).limited


def test_a_search_of_tempo_without_traces_is_reported(api):
    api.routes = {"/api/echo": (200, b"echo"), "/api/search": (200, b"{}")}
    assert read_sources([api.url]).refused == [f"{api.url}: lacks the requested traces"]


def test_whole_addresses_are_jaegers_if_their_answers_are(api):
    older_jaeger(api)
    assert read_sources([f"{api.url}/api/traces?service=edge"]).jaeger == api.url
    api.routes = {f"/api/traces/{FIRST}": (200, json.dumps(otlp_document(TRACES[FIRST])).encode())}
    assert read_sources([f"{api.url}/api/traces/{FIRST}"]).jaeger == ""


def test_any_address_below_api_is_asked_as_it_is_with_the_headers(api):
    api.routes = {"/prefix/api/whatever": (200, otlp_message(TRACES[FIRST]))}
    read = read_sources([f"{api.url}/prefix/api/whatever?x=1"], query=Query(headers={"Authorization": "Bearer t"}))
    assert read.traces.keys() == {FIRST}
    assert api.asked[0][2]["Authorization"] == "Bearer t"


def test_headers_are_not_sent_on_to_another_origin(api):
    other = api.url.replace("127.0.0.1", "localhost")
    api.routes = {
        "/api/1": (302, b"", f"{api.url}/api/found"),
        "/api/2": (302, b"", f"{other}/api/found"),
        "/api/found": (200, otlp_message(TRACES[FIRST])),
    }
    query = Query(headers={"Authorization": "Bearer t"})
    for path, sent in (("/api/1", ["Bearer t", "Bearer t"]), ("/api/2", ["Bearer t", None])):
        api.asked.clear()
        assert read_sources([f"{api.url}{path}"], query=query).traces.keys() == {FIRST}
        assert [headers.get("Authorization") for _, _, headers in api.asked] == sent
    api.routes["/api/found"] = (401, b"")
    assert f"{other}/api/found answered 401 (it requires credentials" in read_sources([f"{api.url}/api/2"]).said


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "requires credentials"), (403, "not sufficient"), (404, "nothing is there"), (429, "too many requests"),
     (500, "answered 500")],
)  # fmt: skip
def test_errors_say_what_helps(api, status, said):
    api.routes = {"/api/traces/1": (status, b"the reason\n\x1b[31m")}
    found = read_sources([f"{api.url}/api/traces/1"]).said
    assert said in found
    assert "the reason" in found
    assert "\x1b" not in found


def test_an_address_where_no_api_is(api):
    api.routes = {"/api/services": (200, b"<html>")}
    read = read_sources([api.url])
    said = "neither Jaeger, Zipkin nor Tempo answers there (/api/services: an unexpected answer; /api/v2/services: 404"
    assert said in read.said


@pytest.mark.parametrize(
    "routes",
    [
        {"/api/services": b'{"data": 5}'},
        {"/api/v2/services": b"[5]"},
        {"/api/echo": b"echo", "/api/search": b'{"traces": [{}]}'},
        {"/api/echo": b"echo", "/api/search": b"[]"},
    ],
)
def test_a_search_that_answers_with_other_json_is_refused(api, routes):
    api.routes = {path: (200, body) for path, body in routes.items()}
    read = read_sources([api.url], query=Query(service="a"))
    assert "did not answer with the JSON of this API: " in read.said


def test_an_invalid_address():
    assert "http://[::1: is not a valid address" in read_sources(["http://[::1"]).said


def test_a_server_that_hangs_is_given_up(api, monkeypatch):
    monkeypatch.setattr(http, "SILENCE_S", 0.2)
    api.routes = {"/api/traces/1": lambda request: (200, request.server.ended.wait(20) and b"{}")}
    assert "did not answer" in read_sources([f"{api.url}/api/traces/1"]).said


def test_an_error_whose_text_stalls_is_reported_without_it(api, monkeypatch):
    monkeypatch.setattr(http, "SILENCE_S", 0.2)

    def stall(request):
        request.send_response(500)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.server.ended.wait(20)
        return 500, b""

    api.routes = {"/api/traces/1": stall}
    assert "answered 500: no body" in read_sources([f"{api.url}/api/traces/1"]).said


def test_a_file_that_nests_too_deep_is_refused(tmp_path):
    file = tmp_path / "traces.jsonl"
    file.write_text('{"a":' * 5000 + "1" + "}" * 5000 + "\n{}\n", encoding="utf-8")
    read = read_sources([str(file)])
    assert str(file) in read.said
    assert not read.traces


def test_nobody_listens():
    assert "did not answer" in read_sources(["http://127.0.0.1:9/api/traces/1"]).said


def test_moments_and_headers():
    assert moment_ns("2026-05-01T12:00:00Z", "--since") == moment_ns("2026-05-01T14:00:00+02:00", "--since")
    assert moment_ns("1970-01-01T00:00:01.5", "--since") == 1_500_000_000
    assert 59 < (moment_ns("0s", "--since") - moment_ns("1m", "--since")) / 1e9 < 90
    assert header_of("X-Scope-OrgID: a:b") == ("X-Scope-OrgID", "a:b")
    for wrong in ("yesterday", "5", "1w"):
        with pytest.raises(SourceError, match="--since"):
            moment_ns(wrong, "--since")
    for early in ("999999d", "1969-12-31", "0001-01-01"):
        with pytest.raises(SourceError, match=f"--since {early}: this is before 1970"):
            moment_ns(early, "--since")
    for wrong in ("no colon", ": x", "a: b\r\nc: d"):
        with pytest.raises(SourceError, match="NAME:VALUE"):
            header_of(wrong)
