"""Every answer round-trips through every encoding, and its bytes follow the format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphql import FieldNode, OperationDefinitionNode, SelectionSetNode, parse

from serialisation import graphql
from serialisation.answer_types import KINDS
from serialisation.encodings import ENCODINGS, OF_GO, Encoding, encode_for_go
from serialisation.messages import PARTS

LOAD = Path(__file__).resolve().parents[3]
DOCUMENTS, WORKLOADS = LOAD / "internal" / "graphql" / "documents", LOAD / "workloads"
NAMES = [f"{encoding.name}/{encoding.library}" for encoding in ENCODINGS]


def test_every_journey_of_the_generator_has_an_answer(answers: Mapping[str, Any]) -> None:
    mixes = (yaml.safe_load((WORKLOADS / f"{name}.yaml").read_text())["mix"] for name in ("even", "document"))
    assert {entry["journey"] for mix in mixes for entry in mix} == KINDS.keys() == answers.keys()


@pytest.mark.parametrize("journey", KINDS)
@pytest.mark.parametrize("encoding", ENCODINGS, ids=NAMES)
def test_an_answer_round_trips(encoding: Encoding, journey: str, answers: Mapping[str, Any]) -> None:
    codec = encoding.codec(journey)
    parts = codec.write(answers[journey])
    assert codec.answer(parts) == answers[journey]
    assert codec.write(codec.answer(parts)) == parts


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("json", b'{"id":1,"email":"a@b.c","name":"Ada"}'),
        ("graphql", b'{"data":{"me":{"id":"VXNlcjox","email":"a@b.c","name":"Ada"}}}'),
        # Field 1 is a varint; fields 2 and 3 are strings with their lengths.
        ("protobuf", b"\x08\x01\x12\x05a@b.c\x1a\x03Ada"),
        # Each field has the difference of field ids and its type; integers are in zigzag form; a zero ends the struct.
        ("thrift-compact", b"\x16\x02\x18\x05a@b.c\x18\x03Ada\x00"),
        ("thrift-json", b'{"1":{"i64":1},"2":{"str":"a@b.c"},"3":{"str":"Ada"}}'),
    ],
)
def test_the_bytes_follow_the_format(encoding: str, written: bytes, answers: Mapping[str, Any]) -> None:
    assert encode_for_go("login", answers["login"])[encoding] == [written]


def test_both_libraries_write_the_same_json(answers: Mapping[str, Any]) -> None:
    one, other = (encoding for encoding in ENCODINGS if encoding.name == "json")
    for journey, answer in answers.items():
        assert one.codec(journey).write(answer) == other.codec(journey).write(answer)


@pytest.mark.parametrize("journey", KINDS)
def test_a_body_for_each_method_and_all_encodings_for_go(journey: str, answers: Mapping[str, Any]) -> None:
    made = encode_for_go(journey, answers[journey])
    assert made.keys() == OF_GO.keys()
    for encoding, parts in made.items():
        binary_or_tjson = encoding == "protobuf" or encoding.startswith("thrift")
        assert len(parts) == (len(PARTS[journey]) if binary_or_tjson else 1)


@pytest.mark.parametrize("journey", KINDS)
def test_a_response_has_the_requested_fields_in_order(journey: str, answers: Mapping[str, Any]) -> None:
    text = (DOCUMENTS / f"{'profile' if journey == 'login' else journey}.graphql").read_text()
    (operation,) = parse(text).definitions
    assert isinstance(operation, OperationDefinitionNode)
    response = graphql.build(journey)(answers[journey])
    assert response.keys() == {"data"}
    asked = list(_requested_fields(operation.selection_set))
    assert list(dict.fromkeys(_response_fields(response["data"]))) == asked
    assert json.loads(json.dumps(response)) == response


def _requested_fields(selection: SelectionSetNode, path: str = "") -> Iterator[str]:
    for field in selection.selections:
        assert isinstance(field, FieldNode)
        yield (here := f"{path}.{field.name.value}")
        if field.selection_set:
            yield from _requested_fields(field.selection_set, here)


def _response_fields(value: Any, path: str = "") -> Iterator[str]:
    """Yields the fields of a response in order; for a list, the fields of its first entry come first."""
    if isinstance(value, list):
        for entry in value:
            yield from _response_fields(entry, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield (here := f"{path}.{name}")
            yield from _response_fields(inner, here)
