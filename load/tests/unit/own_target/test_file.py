"""A target file as people write it, what is wrong with it, and the steps that become of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.own_target.addresses import require_mine
from experiment.own_target.file import TargetFile, read_target
from experiment.own_target.steps import steps_of
from mesh.paths import ROOT

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


def written(tmp_path: Path, text: str, rows: str = "id,name\n1,a\n2,b\n") -> TargetFile:
    (tmp_path / "users.csv").write_text(rows, encoding="utf-8")
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    return read_target(file)


def test_the_example_of_the_docs() -> None:
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
    (step,) = steps_of(written(tmp_path, text))["journeys"][0]["steps"]
    assert (step["absent"], step.get("no_errors")) == (absent, no_errors)


def test_steps_have_the_lines_of_the_file_and_typed_rows(tmp_path: Path) -> None:
    steps = steps_of(written(tmp_path, SMALL))
    assert steps["file"] == "small.yaml"
    assert steps["tables"]["users"]["rows"] == [[1, "a"], [2, "b"]]
    (step,) = steps["journeys"][0]["steps"]
    assert (step["line"], step["at"], step["method"], step["path"]) == (10, "web", "GET", "/users/${id}")


def test_a_path_may_be_a_variable(tmp_path: Path) -> None:
    (step,) = steps_of(written(tmp_path, SMALL.replace("/users/${id}", "${name}")))["journeys"][0]["steps"]
    assert (step["method"], step["path"]) == ("GET", "${name}")


def test_a_date_is_a_text_as_in_json(tmp_path: Path) -> None:
    steps = steps_of(written(tmp_path, SMALL + "        body: {when: 2024-01-01}\n"))
    assert steps["journeys"][0]["steps"][0]["json"] == {"when": "2024-01-01"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "http: GET",
            "http: FETCH",
            "small.yaml:10: journeys.look.steps[0].http: 'FETCH /users/${id}' is not valid; give",
        ),
        ("http: GET /users/${id}", "http: GET ${id}/a", "'GET ${id}/a' is not valid; give a method"),
        ("http: GET", "headers: {Content-Length: '1'}\n        http: GET", "Content-Length is the client's own"),
        ("http: GET", "headers: {Cookie: a=1, cookie: b=1}\n        http: GET", "Cookie, cookie are the same but"),
        ("http: GET", "headers: {a b: ''}\n        http: GET", "headers.a b: 'a b' is not valid; a header's name"),
        ("http: GET", "expect: {equal: {id: 1}}\n        http: GET", "'id' is not valid; a pointer begins with /"),
        ("http: GET", "take: {key: /id}\n        http: GET", "every journey has a variable key; take another name"),
        ("http: GET", "take: {n: id}\n        http: GET", "'id' is not valid; a pointer begins with /"),
        (
            "http: GET",
            "take: {n: {}}\n        http: GET",
            "take.n: give a pointer, such as /items/0/id, or one of header",
        ),
        ("http: GET", "take: {n: [/id]}\n        http: GET", "take.n: give a pointer, such as /items/0/id, or one of"),
        ("http: GET", "take: {n: }\n        http: GET", "take.n: give a pointer, such as /items/0/id, or one of"),
        ("http: GET", 'take: {n: {match: ""}}\n        http: GET', "take.n: match is empty: give an expression"),
        (
            "http: GET",
            "take: {n: {header: A, cookie: b}}\n        http: GET",
            "take.n: give a pointer, such as /items/0",
        ),
        (
            "http: GET",
            "take: {n: {head: A}}\n        http: GET",
            "take.n.head: is not a key here; did you mean header? valid: pointer, header,",
        ),
        (
            "http: GET",
            "take: {n: {header: a b}}\n        http: GET",
            "take.n.header: 'a b' is not valid; a header's name",
        ),
        (
            "http: GET /users/${id}",
            "grpc: a.B/C\n        take: {n: {cookie: a}}",
            "take: of gRPC's answers there are pointers and headers",
        ),
        ("http: GET", "body: {n: .nan}\n        http: GET", "small.yaml:10: not valid YAML: .nan is no finite number"),
        ("- http: GET /users/${id}", "- expect: {}", "needs one of http, graphql and grpc"),
        ("http: GET /users/${id}", "http: GET /a\n        message: {}", "message goes with grpc"),
        ("http: GET /users/${id}", "http: GET /a\n        expect: {code: NOT_FOUND}", "expect.code goes with grpc"),
        (
            "http: GET /users/${id}",
            "grpc: a.B/C\n        expect: {status: 404}",
            "expect.status goes with http and graphql",
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
        ("http: GET", "at: api\n        http: GET", "'api' is no endpoint for HTTP; those are: web"),
        ("- http: GET /users/${id}", "- grpc: a.B/C", "needs at: with an endpoint for gRPC; those are: none"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "give scheme://host:port, with one of http, https, grpc, grpcs"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", "is not valid; give scheme://host:port"),
        (
            "name: small",
            "name: small\ntimeout: 1m",
            "small.yaml:2: timeout: timeout=1m is not valid: give a duration from 10ms to 30s",
        ),
        ("  look:", "  look:\n    weight: -1", "small.yaml:8: journeys.look.weight: is -1; it must be at least 0"),
        ("  look:", "  look:\n    weight: often", "small.yaml:8: journeys.look.weight: must be a number, not 'often'"),
        ("  look:", "  look:\n    weight: 0", "small.yaml:6: journeys: all weights are 0"),
        ("  look:", "  look:\n    channel: tv", "look.channel: 'tv' is unknown; valid: web, mobile, partner"),
        ("  look:", "  5:", "small.yaml:7: journeys.5: must be a text, not 5: put it in quotes"),
        ("name: small", "name: a/b", "small.yaml:1: name: 'a/b' is not valid; use letters and digits, with single"),
        ("name: small", "name: small\nhttp: 3", "small.yaml:2: http: 3 is unknown; valid: 1, 2"),
        ("name: small", "name: small\nconnections: 1.5", "connections: must be a whole number, not 1.5"),
        ("name: small", "name: small\nconnections: 5000", "connections: is 5000; it must be at most 1,024"),
        ("name: small", "name: small\narrival: {process: bus}", "arrival.process: 'bus' is unknown; valid: poisson"),
        ("name: small", "name: small\narrival: {proces: ramp}", "arrival.proces: is not a key here; did you mean proc"),
        ("name: small", "name: small\narrival: {process: ramp}", "arrival.process: the process ramp needs from and to"),
        ("- http: GET /users/${id}", "[]", "small.yaml:9: journeys.look.steps: has 0 entries; it needs at least 1"),
        ("numbers: [id]", "numbers: [age]", "users.csv has no column age; columns: id, name"),
        ("numbers: [id]", "numbers: [name]", "users.csv: row 2: name 'a' is not a number"),
        ("users.csv", "none.csv", "small.yaml:5: tables.users: none.csv cannot be read: No such file"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(UsageError) as refused:
        steps_of(written(tmp_path, SMALL.replace(old, new)))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value), "one mistake, one message"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("id,name\n", "has 0 rows below a line with the variables' names"),
        ("id,name\n1\n", "row 2 has 1 values for 2 columns"),
        ("id,first name\n1,a\n", "'first name' is no name of a variable"),
        ("id,id\n1,2\n", "users.csv:1: the column id appears twice"),
        ("id,seq\n1,2\n", "users.csv:1: every journey has a variable seq; rename the column"),
        ("id\n01\n", "row 2: id '01' is not a number"),
        ("id\n1e999\n", "row 2: id '1e999' is not a number"),
        ("id\n1e-99999999999999999999\n", "row 2: id '1e-99999999999999999999' is not a number"),
        (f"id\n{'1' * 5000}\n", "row 2: id '1111111111111111111111111111111111111111' is not a number"),
        ("id\n0.12345678901234567890\n", "row 2: id '0.12345678901234567890' has more digits than a number keeps"),
    ],
)
def test_what_is_wrong_with_a_table(tmp_path: Path, rows: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"users\.csv") as refused:
        steps_of(written(tmp_path, SMALL, rows))
    assert said in str(refused.value)


def test_numbers_are_what_the_table_says(tmp_path: Path) -> None:
    steps = steps_of(written(tmp_path, SMALL, "id\n12345678901234567890123\n-0.10\n1e2\n"))
    assert steps["tables"]["users"]["rows"] == [[12345678901234567890123], [-0.1], [100.0]]


def test_only_this_machine_is_loaded_unless_its_owner_says_so(tmp_path: Path) -> None:
    require_mine(written(tmp_path, SMALL.replace("127.0.0.1", "localhost")), [])
    away = written(tmp_path, SMALL.replace("127.0.0.1", "192.0.2.7"))
    with pytest.raises(UsageError) as refused:
        require_mine(away, [])
    assert "small.yaml:3: targets.here.endpoints.web: 192.0.2.7 is at 192.0.2.7, which is not this machine" in str(
        refused.value
    )
    assert "give --target-is-mine 192.0.2.7" in str(refused.value)
    with pytest.raises(UsageError):
        require_mine(away, ["192.0.2.8"])
    require_mine(away, ["192.0.2.7"])
