"""Checks the answers under load: compares the digest of each answer with the digest of the reference answer.

No journey of a load changes what another journey reads, so one reference serves all trials of an experiment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping

import psycopg

from experiment.generator.shopload import Tape
from experiment.parity.reference import Reference
from experiment.results.folder import read_json, write_json
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime


def reference_digests(
    system: Runtime, tape: Tape, may_differ: Collection[str], say: Callable[[str], object]
) -> Mapping[str, str]:
    """Returns the SHA-256 of the correct answer to each journey on a tape, by the journey's `seq`.

    The digests are computed once, on fresh data, and stored next to the tape.

    Args:
        may_differ: Kinds of journeys without a reference answer; the same in all trials of an experiment.
    """
    kept = tape.path.with_suffix(".answers.json")
    if not kept.is_file():
        with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
            reference = Reference(connection)
            _, *lines = tape.path.read_text(encoding="utf-8").splitlines()
            rows = [row for row in map(json.loads, lines) if row["journey"] not in may_differ]
            say(f"computing the correct answers to {len(rows)} journeys")
            digests, by_request = {}, dict[str, str]()
            for row in rows:
                # Customers ask for the same things again and again, above all on the long tapes of closed loops.
                request = json.dumps([row["journey"], row["params"]])
                if request not in by_request:
                    by_request[request] = digest(reference.answer(row["journey"], row["params"]))
                digests[str(row["seq"])] = by_request[request]
        write_json(kept, digests)
    return read_json(kept)


def digest(answer: object) -> str:
    """Returns the SHA-256 of a canonical answer, which equals the digest that the load generator computes."""
    text = json.dumps(answer, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
