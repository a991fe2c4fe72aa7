"""Whether the answers under load are the data's, too: the digest of each is held against the reference answer's.

No journey of a load changes what another one reads, so one reference serves all trials of an experiment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping

import psycopg

from experiment.generator.shopload import Tape
from experiment.parity.reference import Reference
from experiment.results.folder import read_json, write_json
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime


def reference_digests(system: Runtime, tape: Tape, may_differ: Collection[str] = ()) -> Mapping[str, str]:
    """Returns the SHA-256 of the right answer to each journey of a tape, by seq.

    Worked out once, on fresh data, and kept beside the tape.

    Args:
        system: A system that runs; its database is asked.
        tape: The journeys.
        may_differ: Kinds of journey without a reference answer; the same in all trials of an experiment.
    """
    kept = tape.path.with_suffix(".answers.json")
    if not kept.is_file():
        with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
            reference = Reference(connection)
            _, *lines = tape.path.read_text(encoding="utf-8").splitlines()
            rows = [row for row in map(json.loads, lines) if row["journey"] not in may_differ]
            digests = {str(row["seq"]): digest(reference.answer(row["journey"], row["params"])) for row in rows}
        write_json(kept, digests)
    return read_json(kept)


def digest(answer: object) -> str:
    """Returns the SHA-256 of a canonical answer, as the generator makes it."""
    text = json.dumps(answer, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
