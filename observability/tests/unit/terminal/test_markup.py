"""The terminal shows text from traces, topologies and files unchanged, with any brackets."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.kinds import analyse
from hops.kinds.bench.terminal import bench
from hops.kinds.two_runs.analysis import compare_runs
from hops.kinds.two_runs.tables import runs_view
from hops.terminal.comparison import compare
from synthetic.traces import otlp_document, shop_trace

from ..report.pages import print_view

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = (
    "observability/hops", "load/experiment", "mesh/mesh", "mesh/provision", "services/shop", "load/proofs",
    "graphql-gateway/graphql_gateway", "rest-gateway/rest_gateway",
)  # fmt: skip
SPAN, SERVICE, PART = "GET /users/[id]", "gw[/red]", "work::key:"
"""Rich reads the first two as markup, one of which closes a tag that was never opened, and the third as a picture."""


def rename(document, names):
    """Returns the same document with other names everywhere."""
    text = json.dumps(document)
    for old, new in names.items():
        assert f'"{old}"' in text
        text = text.replace(f'"{old}"', json.dumps(new))
    return json.loads(text)


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(topologies=["rest", "hybrid"], blocks=3, journeys_per_trial=400, traced=0.5)


@pytest.fixture(scope="module")
def summary(run):
    names = {"rest": SERVICE, "browse": SPAN, "work:product": PART, "parity": "gate[/b]"}
    return rename(analyse(run, name="run"), names)


def test_bench_shows_names_as_they_are(summary):
    text = print_view(bench(summary | {"topologies": {SERVICE: summary["topologies"][SERVICE]}}))
    for name in (SPAN, PART, "gate[/b]"):
        assert name in text


def test_compare_shows_names_as_they_are(summary):
    text = print_view(compare(summary))
    for name in (SPAN, SERVICE, "gate[/b]"):
        assert name in text


def test_compare_runs_shows_names_as_they_are(run):
    found = compare_runs(run, run)
    text = print_view(runs_view(rename(found, {"rest": SERVICE, "browse": SPAN})))
    assert SPAN in text
    assert SERVICE in text


def test_a_trace_shows_names_as_they_are(tmp_path):
    spans = [
        msgspec.structs.replace(
            span, name=SPAN if span.kind == "CLIENT" else span.name, service=SERVICE, attributes={"shop.journey": SPAN}
        )
        for span in shop_trace(4, spans=12)
    ]
    file = tmp_path / "spans[id].json"
    file.write_text(json.dumps(otlp_document(spans)))
    result = CliRunner().invoke(app, ["budget", str(file)])
    assert result.exit_code == 0, result.output
    assert f"{SERVICE} {SPAN} [CLIENT]" in result.output
    assert f"work:{SERVICE}" in result.output
    assert f"Hop budget of {SPAN}" in " ".join(result.output.split())
    missing = CliRunner().invoke(app, ["budget", str(file), "--trace", "b" * 32])
    assert str(file) in missing.output


def test_every_console_takes_text_as_it_is():
    """A console with rich's defaults interprets markup, and so does text built from markup."""
    wrong = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and _name(node.func) in READ_MARKUP:
                    given = {word.arg for word in node.keywords if getattr(word.value, "value", None) is False}
                    if not READ_MARKUP[_name(node.func)] <= given:
                        wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


READ_MARKUP = {"Console": {"markup", "emoji"}, "TextColumn": {"markup"}, "from_markup": {"never"}}


def _name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
