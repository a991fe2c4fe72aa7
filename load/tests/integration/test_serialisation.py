"""The answers that the bench of encodings computes from the seeded data."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from mesh.description.ports import Ports
from serialisation import answer_types
from serialisation.answer_types import KINDS
from serialisation.answers import real_answers
from serialisation.encodings import ENCODINGS

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def answers(shop_ports: Ports) -> dict[str, Any]:
    return real_answers(shop_ports, os.environ, seed=1)


def test_every_journey_has_an_answer_from_the_seeded_data(answers: dict[str, Any]) -> None:
    assert {journey: type(answer) for journey, answer in answers.items()} == dict(KINDS)
    assert len(answers["browse"].products) == 20
    assert len(answers["bulk_lines"].lines) == 1000
    history: answer_types.OrderHistory = answers["order_history"]
    assert len(history.orders) == 10
    assert history.user_id
    assert answers["checkout"].id == 10_001
    assert len(msgspec.json.encode(answers["document"])) == 10_000


def test_real_answers_round_trip(answers: dict[str, Any]) -> None:
    for journey, answer in answers.items():
        for encoding in ENCODINGS:
            codec = encoding.codec(journey)
            assert codec.answer(codec.write(answer)) == answer, (journey, encoding.name)
