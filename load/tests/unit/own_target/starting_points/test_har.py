"""A recording becomes a valid target file, without secrets from headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from experiment.own_target.file import read_target
from experiment.own_target.har import from_har, write_start

FORM = "application/x-www-form-urlencoded"


def entry(method: str, url: str, status: int = 200, post: dict[str, Any] | None = None) -> dict[str, Any]:
    headers = {"Authorization": "Bearer secret-1", "cookie": "s=secret-2"}
    request = {
        "method": method,
        "url": url,
        "headers": [{"name": name, "value": value} for name, value in headers.items()],
        **({"postData": post} if post else {}),
    }
    return {"request": request, "response": {"status": status}}


def post_entry(text: str, media: str = "application/json", **more: Any) -> dict[str, Any]:
    return entry("POST", "http://127.0.0.1:9000/p", post={"mimeType": media, "text": text, **more})


def convert(*entries: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the steps of a recording, without their endpoints, and the notes."""
    document, notes = from_har({"log": {"entries": list(entries)}})
    steps = document["journeys"].get("visit", {"steps": []})["steps"]
    return [{key: value for key, value in step.items() if key != "at"} for step in steps], notes


def test_a_recording_becomes_a_journey_without_headers(tmp_path: Path) -> None:
    entries = [
        entry("GET", "http://127.0.0.1:9000/a?x=${y}"),
        entry("POST", "http://127.0.0.1:9001/b", 303, {"mimeType": "application/json", "text": '{"a": "${b}"}'}),
        post_entry('{"query": "{ a }", "variables": {"n": 1}}'),
    ]
    source, out = tmp_path / "x.har", tmp_path / "out.yaml"
    source.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    (note,) = write_start(source, out)
    assert "headers were left out, authorization, cookie among them" in note
    assert "secret" not in out.read_text(encoding="utf-8")
    target = read_target(out).target
    first, second, graphql = target.journeys["visit"].steps
    assert (first.http, first.at) == ("GET /a?x=$${y}", "web1")
    assert (second.body, second.expect.status, second.at) == ({"a": "$${b}"}, (303,), "web2")
    assert (graphql.graphql, graphql.path, graphql.variables) == ("{ a }", "/p", {"n": 1})
    assert target.targets["mine"].endpoints["web2"] == "http://127.0.0.1:9001"
    with pytest.raises(UsageError, match="already exists"):
        write_start(source, out)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('{"id": "12345e67", "n": "5e999", "e": "1e3"}', {"id": "12345e67", "n": "5e999", "e": "1e3"}),
        ('{"day": "2024-01-01", "on": "on", "n": 1e3}', {"day": "2024-01-01", "on": "on", "n": 1000}),
        ("[" * 11 + "]" * 11, json.loads("[" * 11 + "]" * 11)),
        *((text, text) for text in ("[" * 12 + "]" * 12, "[" * 5000 + "]" * 5000, '{"n": 5e999}')),
    ],
)
def test_a_body_is_read_from_the_file_as_it_was_recorded(tmp_path: Path, text: str, body: Any) -> None:
    source, out = tmp_path / "x.har", tmp_path / "out.yaml"
    source.write_text(json.dumps({"log": {"entries": [post_entry(text)]}}), encoding="utf-8")
    write_start(source, out)
    (step,) = read_target(out).target.journeys["visit"].steps
    assert step.body == body
    assert step.headers == ({"content-type": "application/json"} if body == text else {})


@pytest.mark.parametrize(
    "body",
    [
        {"query": "red shoes"},
        {"query": "{ a }", "size": 10},
        {"query": "query A { a } query B { b }", "operationName": "B"},
        {"query": "fragment F on Query { a }"},
        {"query": "{ a }", "extensions": {"x": 1}},
        {"query": "{ a }", "variables": [1]},
    ],
)
def test_json_that_a_graphql_step_could_not_send_stays_json(body: dict[str, Any]) -> None:
    assert convert(post_entry(json.dumps(body)))[0] == [{"http": "POST /p", "body": body}]


@pytest.mark.parametrize(
    ("sent", "step"),
    [
        (post_entry('{"query": "# of a page\\n query A { a }"}'), {"graphql": "# of a page\n query A { a }"}),
        (post_entry("{}", "application/vnd.api+json"), {"headers": {"content-type": "application/vnd.api+json"}}),
        (post_entry("5", "application/json; charset=utf-8"), {"headers": {"content-type": "application/json"}}),
        (post_entry("a=1", FORM), {"headers": {"content-type": FORM}, "body": "a=1"}),
        (post_entry("", FORM, params=[{"name": "a", "value": "x &"}, {"name": "b"}]), {"body": "a=x+%26&b="}),
        (post_entry("a", ""), {"http": "POST /p", "body": "a"}),
        (entry("GET", "http://127.0.0.1:9000/it ems/é?q=a b#top"), {"http": "GET /it%20ems/%C3%A9?q=a%20b"}),
        (entry("GET", "http://127.0.0.1:9000/a%20b", 304), {"http": "GET /a%20b"}),
    ],
)
def test_a_request_becomes_a_step(sent: dict[str, Any], step: dict[str, Any]) -> None:
    (made,), _ = convert(sent)
    assert made | step == made
    assert "expect" not in made


def test_other_entries_are_left_out_and_counted() -> None:
    steps, (_, note) = convert(
        entry("GET", "https://cdn.example/x.js"),
        entry("GET", "http://127.0.0.1:9000/a"),
        entry("GET", "http://127.0.0.1:9000/b"),
        entry("GET", "https://cdn.example/y.js"),
        entry("GET", "http://127.0.0.1:9000/c"),
        entry("GET", "data:image/png;base64,xx"),
        entry("GET", "http://127.0.0.1:9000/socket", 101),
        entry("CONNECT", "http://127.0.0.1:9000/"),
        post_entry("--x", "multipart/form-data; boundary=x"),
        post_entry("AAEC", "application/octet-stream", encoding="base64"),
    )
    assert [step["http"] for step in steps] == ["GET /a", "GET /b", "GET /c"]
    assert note == (
        "left out: data: URLs (1), WebSockets (1), CONNECT requests (1), uploads (multipart) (1), "
        "bodies that are not text (1), requests to https://cdn.example (2)"
    )


def with_response(status: Any, *, url: str = "http://127.0.0.1:9000/b", **more: Any) -> dict[str, Any]:
    """Makes an entry with additional members in its response; `entry` has additional members of the entry itself."""
    own = more.pop("entry", {})
    made = entry("GET", url)
    return {**made, "response": {"status": status, **more}, **own}


ABORTED = {"request": entry("GET", "http://127.0.0.1:9000/b")["request"]}


@pytest.mark.parametrize(
    ("no_step", "what"),
    [
        (with_response(0, _error="net::ERR_ABORTED"), "requests without an answer, net::ERR_ABORTED"),
        (
            with_response(0, _error="net::ERR_BLOCKED_BY_CLIENT"),
            "requests without an answer, net::ERR_BLOCKED_BY_CLIENT",
        ),
        (with_response(-1, _failureText="NS_BINDING_ABORTED"), "requests without an answer, NS_BINDING_ABORTED"),
        (with_response(0, statusText=""), "requests without an answer"),
        (with_response(0, _error="\x1b[2J words"), "requests without an answer"),
        (with_response(None), "requests without an answer"),
        (with_response(999), "requests without an answer"),
        (ABORTED, "requests without an answer"),
        (ABORTED | {"response": None}, "requests without an answer"),
        (with_response(200, entry={"_fromCache": "disk"}), "requests that the browser's cache answered"),
        (with_response(200, entry={"_fromCache": "memory"}), "requests that the browser's cache answered"),
        (with_response(200, entry={"_fetchType": "Memory Cache"}), "requests that the browser's cache answered"),
        (with_response(200, entry={"_fetchType": "Service Worker"}), "requests that a service worker answered"),
        (with_response(200, entry={"_fetchedViaServiceWorker": True}), "requests that a service worker answered"),
        (with_response(307, statusText="Internal Redirect"), "redirects to HTTPS that the browser made itself"),
        (with_response(200, content={"mimeType": "text/event-stream;charset=UTF-8"}), "streams of events"),
        (with_response(0, url="wss://127.0.0.1:9000/live"), "WebSockets"),
        (with_response(0, entry={"_resourceType": "websocket"}), "WebSockets"),
        (with_response(0, url="blob:http://127.0.0.1:9000/1b2c"), "blob: URLs"),
        (with_response(0, url="chrome-extension://abc/x.js"), "chrome-extension: URLs"),
        (with_response(200, url="data://[text"), "data: URLs"),
        (with_response(200, url="about:blank"), "about: URLs"),
    ],
)
def test_entries_without_a_server_s_answer_are_left_out(no_step: dict[str, Any], what: str) -> None:
    steps, (_, note) = convert(entry("GET", "http://127.0.0.1:9000/a"), no_step, no_step)
    assert steps == [{"http": "GET /a"}]
    assert note == f"left out: {what} (2)"


@pytest.mark.parametrize(
    ("status", "expect"), [(302, {"status": 302}), (404, {"status": 404}), (304, None), (204, None)]
)
def test_a_server_s_status_becomes_the_expected_status(status: int, expect: dict[str, Any] | None) -> None:
    (step,), _ = convert(
        with_response(status, statusText="Found", entry={"cache": {}, "_fromCache": None, "_fetchType": "Network Load"})
    )
    assert step.get("expect") == expect


def test_an_ipv6_address_keeps_its_brackets() -> None:
    document, _ = from_har({"log": {"entries": [entry("GET", "http://[::1]:9000/a")]}})
    assert document["targets"]["mine"]["endpoints"] == {"web1": "http://[::1]:9000"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "null is not a mapping with 'log'"),
        ("[]", "[] is not a mapping with 'log'"),
        ("{}", "'log' is missing; it must be a mapping"),
        ('{"log": {}}', "'entries' is missing; it must be a list"),
        ('{"log": {"entries": [1]}}', "entry 1: 1 is not a mapping with 'request'"),
        (json.dumps({"log": {"entries": [entry("GET", "http://a:b/")]}}), "entry 1: http://a:b/: Port could not"),
        ('{"log": {"entries": [], "pages": []}}', "has no request that a target file can have"),
        (json.dumps({"log": {"entries": [entry("GET", "blob:x")]}}), "left out: blob: URLs (1)"),
        (json.dumps({"log": {"entries": [post_entry("\ud800", "text/plain")]}}), "the target file:13: not valid YAML"),
        ("a: [", "not valid YAML"),
        ('{"log": ', "is neither JSON nor YAML"),
        ("\x00", "not valid YAML"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_an_invalid_recording_is_refused_with_the_reason(tmp_path: Path, text: str | None, message: str) -> None:
    source = tmp_path / "x.har"
    if text is not None:
        source.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        write_start(source, tmp_path / "out.yaml")
    assert str(refused.value).startswith(str(source))
    assert message in str(refused.value)
    assert not (tmp_path / "out.yaml").exists()
