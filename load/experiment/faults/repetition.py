"""Repeats failed purchases as a careful customer would: the same purchase with the same idempotency key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from experiment.generator.shopload import Load, Tape

PER_S = 20
"""Repeated purchases per second."""
NS_PER_S = 1_000_000_000


def make_repetition(tape: Tape, seqs: Collection[int], out: Path) -> Load:
    """Makes a tape that repeats some of the journeys on another tape, at least one."""
    header, *entries = _lines(tape.path)
    wanted = [entry for entry in entries if entry["seq"] in seqs]
    again = [{**entry, "seq": place, "at_ns": place * NS_PER_S // PER_S} for place, entry in enumerate(wanted)]
    body = "".join(map(_line, again))
    duration_s = len(again) / PER_S + 1
    header |= {"journeys": len(again), "duration_ns": int(duration_s * NS_PER_S), "rate": float(PER_S)}
    header["body_sha256"] = hashlib.sha256(body.encode()).hexdigest()
    text = _line(header) + body
    out.write_text(text, encoding="utf-8")
    return Load(Tape(out, hashlib.sha256(text.encode()).hexdigest(), len(again), tape.seed), duration_s)


def write_acknowledged(rounds: Iterable[tuple[Path, Path]], out: Path) -> int:
    """Writes the answered purchases of all rounds (rows and tape of each) for the audit; returns their number."""
    lines = []
    for rows, tape in rounds:
        params = {entry["seq"]: entry["params"] for entry in _lines(tape)[1:]}
        for row in _lines(rows):
            if row["journey"] == "checkout" and row["outcome"] == "ok":
                bought = params[row["seq"]]
                keys = {name: bought[name] for name in ("user_id", "idempotency_key")}
                lines.append(_line({"journey": "checkout", "outcome": "ok", "order_id": row["order_id"], **keys}))
    out.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
