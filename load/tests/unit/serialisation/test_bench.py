"""A bench of small answers, with the real Go program."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from hops.terminal.console import terminal
from hops.terminal.render import render
from provision.golang import ENVIRONMENT
from serialisation.answer_types import KINDS
from serialisation.bench import Result, bench
from serialisation.encodings import ENCODINGS, OF_GO, encode_for_go
from serialisation.go_half import GoHalf
from serialisation.rounds import MIN_ROUNDS, OPERATIONS

ROOT = Path(__file__).resolve().parents[4]
LOAD = ROOT / "load"
MADE_IN_PYTHON = {"orjson", "upb", "thrift"}
"""Libraries that need the answer converted to their own objects."""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("go") / "serialisation"
    fetched = sorted(ROOT.glob(".tools/go/lib/python*/site-packages/go/bin/go"))
    go = str(fetched[0]) if fetched else "go"
    # The same flags as all builds, so that Go has most packages in its cache.
    env = {**os.environ, **ENVIRONMENT}
    subprocess.run([go, "build", "-o", made, "./bench/serialisation"], cwd=LOAD, env=env, check=True, timeout=600)
    return made


@pytest.fixture(scope="module")
def result(answers: Mapping[str, Any], binary: Path) -> Result:
    with GoHalf(answers, binary) as go:
        return bench(answers, go, rounds=MIN_ROUNDS, seconds=1, seed=1, say=print)


def test_a_row_for_each_journey_encoding_language_and_operation(result: Result) -> None:
    rows = result.as_dicts()
    keys = {(row["journey"], row["language"], row["encoding"], row["library"], row["operation"]) for row in rows}
    both = ("encode", "gzip", "gunzip", "decode")
    python = {
        (journey, "Python", encoding.name, encoding.library, operation)
        for journey in KINDS
        for encoding in ENCODINGS
        for operation in (OPERATIONS if encoding.library in MADE_IN_PYTHON else both)
    }
    go = {(journey, "Go", *of, operation) for journey in KINDS for of in OF_GO.items() for operation in both}
    assert keys == python | go
    assert len(rows) == len(keys)
    assert all(row["us_low"] <= row["us"] <= row["us_high"] for row in rows)


def test_sizes_match_the_bodies(result: Result, answers: Mapping[str, Any]) -> None:
    for row in result.as_dicts():
        parts = encode_for_go(row["journey"], answers[row["journey"]])[row["encoding"]]
        if row["language"] == "Python":
            assert row["bytes"] == sum(map(len, parts))
        assert row["gzip_bytes"] > 0
    login = {(row["language"], row["encoding"]): row["bytes"] for row in result.as_dicts() if row["journey"] == "login"}
    sizes = {"json": 37, "graphql": 62, "protobuf": 14, "thrift-compact": 15, "thrift-json": 53}
    assert login == {(language, encoding): size for language in ("Python", "Go") for encoding, size in sizes.items()}


def test_tables_name_every_encoding_of_both_languages(result: Result) -> None:
    text = io.StringIO()
    terminal(text, width=200).print(render(result.tables()))
    for journey in KINDS:
        assert f"{journey}: CPU time per answer" in text.getvalue()
    for name in ("Python (orjson)", "Python (msgspec)", "Python (upb)", "Go (encoding/json)", "Go (protobuf-go)"):
        assert name in text.getvalue()


def test_without_its_go_program_the_bench_says_what_to_do(answers: Mapping[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make bench-serialisation"):
        GoHalf(answers, tmp_path / "absent")
