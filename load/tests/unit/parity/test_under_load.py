from __future__ import annotations

import hashlib

import polars as pl

from experiment.parity.under_load import digest
from experiment.trial.replay import wrong_answers


def test_a_digest_equals_the_generator_s_for_canonical_json() -> None:
    # As the generator writes it: sorted keys, no spaces, no unnecessary escapes.
    text = '{"name":"Zoë <b>&","total":{"amount_minor":5,"currency":"EUR"}}'
    answer = {"total": {"currency": "EUR", "amount_minor": 5}, "name": "Zoë <b>&"}
    assert digest(answer) == hashlib.sha256(text.encode()).hexdigest()


def test_only_existing_answers_that_differ_are_wrong() -> None:
    reference = {str(seq): digest({"title": f"product {seq}"}) for seq in range(4)}
    rows = pl.DataFrame(
        {
            "seq": [0, 1, 2, 3],
            "outcome": ["ok", "ok", "timeout", "ok"],
            "answer_sha256": [reference["0"], digest({"title": "another"}), "", reference["3"]],
        }
    )
    assert wrong_answers(rows, reference) == 1
    assert wrong_answers(rows, {seq: right for seq, right in reference.items() if seq != "1"}) == 0  # it may differ
