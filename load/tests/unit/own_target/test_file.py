"""Target files as users write them, their mistakes, and the steps made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from experiment.errors import UsageError
from experiment.own_target.addresses import entries_of, require_mine
from experiment.own_target.file import TargetFile, read_target
from experiment.own_target.steps import steps_of
from experiment.own_target.tls import tls_of
from experiment.own_target.trial import make_target
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.profiles import profile_named
from mesh.description.ports import load_ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.paths import ROOT
from mesh.sidecars.certificates import Certificate, issue, make_authority

EXAMPLE = ROOT / "docs" / "example" / "target" / "library.yaml"
SMALL = """\
name: small
targets:
  here: {endpoints: {web: "http://127.0.0.1:8000"}}
tables:
  users: {file: users.csv, numbers: [id]}
journeys:
  look:
    table: users
    steps:
      - http: GET /users/${id}
"""


def write_target(tmp_path: Path, text: str, rows: str = "id,name\n1,a\n2,b\n") -> TargetFile:
    (tmp_path / "users.csv").write_text(rows, encoding="utf-8")
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    return read_target(file)


def at_top(lines: str) -> tuple[str, str]:
    return "name: small", f"name: small\n{lines}"


def in_step(line: str) -> tuple[str, str]:
    return "http: GET", f"{line}\n        http: GET"


def test_the_docs_example_is_valid() -> None:
    file = read_target(EXAMPLE)
    require_mine(file, [])
    steps = steps_of(file)
    assert [journey["name"] for journey in steps["journeys"]] == ["look", "read", "call", "borrow"]
    assert len(steps["tables"]["books"]["rows"]) == 100
    graphql = steps["journeys"][1]["steps"][0]
    assert (graphql["method"], graphql["path"], graphql["name"]) == ("POST", "/graphql", "query Read")
    assert (graphql["absent"], graphql["no_errors"]) == ([], True)


@pytest.mark.parametrize(
    ("expect", "absent", "no_errors"),
    [
        ("{there: [/data]}", [], True),
        ("{absent: [/errors, /data/a]}", ["/data/a"], True),
        ("{there: [/errors_total]}", [], True),
        ("{there: [/errors/0/message]}", [], None),
        ("{equal: {/errors: []}}", [], None),
    ],
)
def test_a_step_of_graphql_has_no_errors_unless_it_expects_them(
    tmp_path: Path, expect: str, absent: list[str], no_errors: bool | None
) -> None:
    text = SMALL.replace("http: GET /users/${id}", f'graphql: "{{ a }}"\n        expect: {expect}')
    (step,) = steps_of(write_target(tmp_path, text))["journeys"][0]["steps"]
    assert (step["absent"], step.get("no_errors")) == (absent, no_errors)


def test_steps_have_the_lines_of_the_file_and_typed_rows(tmp_path: Path) -> None:
    steps = steps_of(write_target(tmp_path, SMALL))
    assert steps["file"] == "small.yaml"
    assert steps["tables"]["users"]["rows"] == [[1, "a"], [2, "b"]]
    (step,) = steps["journeys"][0]["steps"]
    assert (step["line"], step["at"], step["method"], step["path"]) == (10, "web", "GET", "/users/${id}")


def test_a_path_may_be_a_variable(tmp_path: Path) -> None:
    (step,) = steps_of(write_target(tmp_path, SMALL.replace("/users/${id}", "${name}")))["journeys"][0]["steps"]
    assert (step["method"], step["path"]) == ("GET", "${name}")


def test_a_journey_s_pauses_are_between_its_steps(tmp_path: Path) -> None:
    more = "".join(f"      - http: GET /{place}\n{own}" for place, own in enumerate(["", "        think: 50ms\n", ""]))
    text = SMALL.replace("table: users\n    steps", "table: users\n    think: {from: 0, to: 1.5s}\n    steps") + more
    steps = steps_of(write_target(tmp_path, text))["journeys"][0]["steps"]
    assert [step["think"] for step in steps] == [[], [0, 1500], [50, 50], [0, 1500]]


def test_a_date_is_a_text_as_in_json(tmp_path: Path) -> None:
    steps = steps_of(write_target(tmp_path, SMALL + "        body: {when: 2024-01-01}\n"))
    assert steps["journeys"][0]["steps"][0]["json"] == {"when": "2024-01-01"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "http: GET",
            "http: FETCH",
            "small.yaml:10: journeys.look.steps[0].http: 'FETCH /users/${id}' is not valid; give",
        ),
        ("http: GET /users/${id}", "http: GET ${id}/a", "'GET ${id}/a' is not valid; give a method"),
        (*in_step("headers: {Content-Length: '1'}"), "sets the header Content-Length"),
        (*in_step("headers: {Cookie: a=1, cookie: b=1}"), "Cookie, cookie differ only in case"),
        (*in_step("headers: {a b: ''}"), "headers.a b: 'a b' is not valid; a header's name"),
        (*in_step("expect: {equal: {id: 1}}"), "'id' is not valid; a pointer begins with /"),
        (*in_step("take: {key: /id}"), "key is a variable that every journey has; choose"),
        (*in_step("take: {n: id}"), "'id' is not valid; a pointer begins with /"),
        (*in_step("take: {n: {}}"), "take.n: give a pointer, such as /items/0/id, or one of header"),
        (*in_step("take: {n: [/id]}"), "take.n: give a pointer, such as /items/0/id, or one of"),
        (*in_step("take: {n: }"), "take.n: give a pointer, such as /items/0/id, or one of"),
        (*in_step('take: {n: {match: ""}}'), "take.n: match is empty: give an expression"),
        (*in_step("take: {n: {header: A, cookie: b}}"), "take.n: give a pointer, such as /items/0"),
        (
            *in_step("take: {n: {head: A}}"),
            "take.n.head: is not a key here; did you mean header? valid: pointer, header,",
        ),
        (*in_step("take: {n: {header: a b}}"), "take.n.header: 'a b' is not valid; a header's name"),
        (
            "http: GET /users/${id}",
            "grpc: a.B/C\n        take: {n: {cookie: a}}",
            "take: values can be taken from a gRPC answer only by pointer or header",
        ),
        (*in_step("body: {n: .nan}"), "small.yaml:10: not valid YAML: .nan is not a finite"),
        ("- http: GET /users/${id}", "- expect: {}", "needs one of http, graphql and grpc"),
        ("http: GET /users/${id}", "http: GET /a\n        message: {}", "message can only be given with grpc"),
        ("http: GET /users/${id}", "http: GET /a\n        expect: {code: NOT_FOUND}", "can only be given with grpc"),
        (
            "http: GET /users/${id}",
            "grpc: a.B/C\n        expect: {status: 404}",
            "expect.status can only be given with http or graphql",
        ),
        (
            "table: users",
            "tabel: users",
            "small.yaml:8: journeys.look.tabel: is not a key here; did you mean table? valid: steps, weight",
        ),
        (
            "table: users",
            "table: people",
            "small.yaml:8: journeys.look.table: there is no table 'people'; tables: users",
        ),
        (*in_step("at: api"), "'api' is not an endpoint for HTTP; valid: web"),
        ("- http: GET /users/${id}", "- grpc: a.B/C", "needs at: to name an endpoint for gRPC; valid: none"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "is not valid; give http://host:port, with a base path if there"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1?a=1", "is not valid; give http://host:port"),
        ("http://127.0.0.1:8000", "grpc://127.0.0.1:8000/v1", "is not valid; give http://host:port"),
        ("http://127.0.0.1:8000", "http://[::1:8000", "is not valid; give http://host:port"),
        ("http://127.0.0.1:8000", "http+unix:app.sock", "is not valid; give http://host:port"),
        ("http://127.0.0.1:8000", f"http+unix:/{'a' * 107}", "For a Unix socket, give its absolute path: http+unix:/"),
        (*at_top("keep_alive: off\nnetworks: wifi"), "small.yaml:2: keep_alive: off needs visit: first"),
        (
            'web: "http://127.0.0.1:8000"}}',
            'web: "http+unix:/a"}}\nnetworks: wifi',
            "small.yaml:4: networks: are emulated only over TCP, but an endpoint is a Unix socket",
        ),
        (*at_top("tls: {key: a.pem}"), "tls: certificate and key must be given together"),
        (*at_top("tls: {max_version: 1.1}"), "tls.max_version: '1.1' is unknown; did you mean"),
        (*at_top("tls: {min_version: 1.3, max_version: '1.2'}"), "tls: min_version is above max_version"),
        (*at_top("timeout: 1m"), "small.yaml:2: timeout: timeout=1m is not valid: give a duration from 10ms to 30s"),
        ("  look:", "  look:\n    weight: -1", "small.yaml:8: journeys.look.weight: is -1; it must be at least 0"),
        ("  look:", "  look:\n    weight: often", "small.yaml:8: journeys.look.weight: must be a number, not 'often'"),
        ("  look:", "  look:\n    weight: 0", "small.yaml:6: journeys: all weights are 0"),
        ("  look:", "  look:\n    channel: tv", "look.channel: 'tv' is unknown; valid: web, mobile, partner"),
        ("  look:", "  all:", "small.yaml:7: journeys.all: is the name of the whole mix; choose another name"),
        ("  look:", "  5:", "small.yaml:7: journeys.5: must be text, not 5: put it in quotes"),
        ("name: small", "name: a/b", "small.yaml:1: name: 'a/b' is not valid; use letters and digits, with single"),
        (*at_top("http: 3"), "small.yaml:2: http: 3 is unknown; valid: 1, 2"),
        (*at_top("connections: 1.5"), "connections: must be a whole number, not 1.5"),
        (*at_top("connections: 5000"), "connections: is 5000; it must be at most 1,024"),
        (*at_top("arrival: {process: bus}"), "arrival.process: 'bus' is unknown; valid: poisson"),
        (*at_top("arrival: {proces: ramp}"), "arrival.proces: is not a key here; did you mean proc"),
        (*at_top("arrival: {process: ramp}"), "arrival.process: the process ramp needs from and to"),
        ("table: users\n", "think: 31s\n", "look.think: think=31s is not valid: give a duration from 0s to 30s"),
        ("table: users\n", "think: {from: 2s, to: 1s}\n", "small.yaml:8: journeys.look.think: from is longer than to"),
        (*in_step("think: 1s"), "small.yaml:7: journeys.look: think is a pause between steps, so"),
        (
            "- http: GET /users/${id}",
            "- http: GET /1\n      - {http: GET /2, think: 20s}\n      - {http: GET /3, think: 20s}",
            "journeys.look: the pauses of all steps add up to 40 s; give at most 30 s",
        ),
        ("- http: GET /users/${id}", "[]", "small.yaml:9: journeys.look.steps: has 0 entries; it needs at least 1"),
        ("numbers: [id]", "numbers: [age]", "users.csv has no column age; columns: id, name"),
        ("numbers: [id]", "numbers: [name]", "users.csv: row 2: name 'a' is not a number"),
        ("users.csv", "none.csv", "small.yaml:5: tables.users: none.csv cannot be read: No such file"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in SMALL
    with pytest.raises(UsageError) as refused:
        steps_of(write_target(tmp_path, SMALL.replace(old, new)))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value), "one mistake, one message"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("id,name\n", "has 0 rows below the line of variable names"),
        ("id,name\n1\n", "row 2 has 1 values for 2 columns"),
        ("id,first name\n1,a\n", "'first name' is not a valid variable"),
        ("id,id\n1,2\n", "users.csv:1: the column id appears twice"),
        ("id,seq\n1,2\n", "users.csv:1: seq is a variable that every journey has; rename the column"),
        ("id\n01\n", "row 2: id '01' is not a number"),
        ("id\n1e999\n", "row 2: id '1e999' is not a number"),
        ("id\n1e-99999999999999999999\n", "row 2: id '1e-99999999999999999999' is not a number"),
        (f"id\n{'1' * 5000}\n", "row 2: id '1111111111111111111111111111111111111111' is not a number"),
        ("id\n0.12345678901234567890\n", "row 2: id '0.12345678901234567890' has more digits than a number can hold"),
    ],
)
def test_a_mistake_in_a_table_is_named(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"users\.csv") as refused:
        steps_of(write_target(tmp_path, SMALL, rows))
    assert message in str(refused.value)


def test_a_table_may_have_as_many_rows_as_the_message_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.own_target.steps.MAX_ROWS", 2)
    assert steps_of(write_target(tmp_path, SMALL))["tables"]["users"]["rows"] == [[1, "a"], [2, "b"]]
    with pytest.raises(UsageError, match="has 3 rows below the line of variable names; give 1 to 2"):
        steps_of(write_target(tmp_path, SMALL, "id,name\n1,a\n2,b\n3,c\n"))


def test_only_the_named_columns_are_numbers(tmp_path: Path) -> None:
    steps = steps_of(write_target(tmp_path, SMALL, "id\n12345678901234567890123\n-0.10\n1e2\n"))
    assert steps["tables"]["users"]["rows"] == [[12345678901234567890123], [-0.1], [100.0]]


def test_the_generator_gets_the_endpoints(tmp_path: Path) -> None:
    endpoints = {"api": "https://localhost:8443/api/v2/", "app": "http+unix:/run/app.sock", "rpc": "grpc+unix:/run/rpc"}
    assert entries_of(endpoints) == {
        "api": {"protocol": "rest", "url": "https://localhost:8443/api/v2"},
        "app": {"protocol": "rest", "url": "http://unix-1.localhost:80", "socket": "/run/app.sock"},
        "rpc": {"protocol": "grpc", "url": "http://unix-2.localhost:80", "socket": "/run/rpc"},
    }
    require_mine(write_target(tmp_path, SMALL.replace("http://127.0.0.1:8000", "http+unix:/run/app.sock")), [])


@pytest.fixture
def pair(tmp_path: Path) -> Certificate:
    return issue(make_authority(tmp_path / "ca"), ["client"], tmp_path / "client")


ENCRYPTED = SMALL.replace("http://", "https://")


def test_the_generator_gets_the_client_s_certificate(tmp_path: Path, pair: Certificate) -> None:
    tls = f"tls: {{ca: ca/root-cert.pem, certificate: {pair.chain}, key: {pair.key}, max_version: 1.2}}\n"
    assert tls_of(write_target(tmp_path, tls + ENCRYPTED)) == {
        "ca_certificate": str(tmp_path / "ca" / "root-cert.pem"),
        "tls_min": "1.2",
        "tls_max": "1.2",
        "client_certificate": str(pair.chain),
        "client_key": str(pair.key),
    }


def test_without_encryption_tls_settings_are_refused(tmp_path: Path) -> None:
    assert tls_of(write_target(tmp_path, SMALL)) == {}
    with pytest.raises(UsageError, match="applies only to https and grpcs endpoints, but there are none"):
        tls_of(write_target(tmp_path, "tls: {ca: a.pem}\n" + SMALL))


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ("ca: none.pem", "small.yaml:1: tls.ca: none.pem cannot be read: No such file or directory"),
        ("ca: KEY", "tls.ca: KEY has no certificate in PEM form"),
        ("certificate: KEY, key: KEY", "tls.certificate: KEY and KEY are not a certificate and its private key"),
        ("certificate: CHAIN, key: other.pem", "are not a certificate and its private key, both in PEM form"),
        ("certificate: CHAIN, key: locked.pem", "tls.key: locked.pem is encrypted; give a key without a password"),
    ],
)
def test_an_unusable_certificate_or_key_is_refused(tmp_path: Path, pair: Certificate, tls: str, message: str) -> None:
    key = load_pem_private_key(pair.key.read_bytes(), None)
    form = Encoding.PEM, PrivateFormat.PKCS8
    (tmp_path / "locked.pem").write_bytes(key.private_bytes(*form, BestAvailableEncryption(b"x")))
    (tmp_path / "other.pem").write_bytes(generate_private_key(SECP256R1()).private_bytes(*form, NoEncryption()))
    for word, file in {"CHAIN": pair.chain, "KEY": pair.key}.items():
        tls, message = tls.replace(word, str(file)), message.replace(word, str(file))
    with pytest.raises(UsageError) as refused:
        tls_of(write_target(tmp_path, f"tls: {{{tls}}}\n" + ENCRYPTED))
    assert message in str(refused.value)
    assert pair.key.read_text().splitlines()[1] not in str(refused.value)


def test_other_machines_are_loaded_only_if_the_user_names_them(tmp_path: Path) -> None:
    require_mine(write_target(tmp_path, SMALL.replace("127.0.0.1", "localhost")), [])
    away = write_target(tmp_path, SMALL.replace("127.0.0.1", "192.0.2.7"))
    with pytest.raises(UsageError) as refused:
        require_mine(away, [])
    assert "small.yaml:3: targets.here.endpoints.web: 192.0.2.7 is at 192.0.2.7, which is not this machine" in str(
        refused.value
    )
    assert "give --target-is-mine 192.0.2.7" in str(refused.value)
    with pytest.raises(UsageError):
        require_mine(away, ["192.0.2.8"])
    require_mine(away, ["192.0.2.7"])


@pytest.mark.parametrize("mine", ["staging.example", "Staging.Example"])
def test_the_case_of_a_host_does_not_matter(tmp_path: Path, mine: str) -> None:
    require_mine(write_target(tmp_path, SMALL.replace("127.0.0.1", "Staging.example")), [mine])


def test_a_host_that_is_not_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"small\.yaml:3: .*web: a\.\.b is not a valid name of a host"):
        require_mine(write_target(tmp_path, SMALL.replace("127.0.0.1", "a..b")), [])


def test_processes_of_this_machine_are_not_at_another_machine_s_ports(tmp_path: Path) -> None:
    endpoints = {"near": "http://127.0.0.1:9001", "far": "http://192.0.2.7:9002", "file": "http+unix:/app.sock"}
    sent = {"timeout_s": 5, "mine": ["192.0.2.7"], "otlp": "", "traces": "", "tls": {}, "journeys": ["look"]}
    about = {"targets": {"here": {"endpoints": endpoints, "ports": [9003]}}, "sent": sent}
    switches = Switches(edge="none")
    arms = arms_of([Topology(name="here", about="", entry={}, links={})], switches)
    plan = Plan("load", "load", arms, 1, profile_named("smoke"), 1, tmp_path / "small.yaml", about=about)
    system = make_target(plan, tmp_path / "steps", tmp_path, "here", switches, "run/1-here", load_ports({}))
    assert list(system.ports) == [9001, 9003]
    assert list(system.sockets) == ["/app.sock"]
