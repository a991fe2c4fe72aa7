"""Reads the checkouts that clients saw succeed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """One checkout that a client saw succeed.

    Attributes:
        line: Line number in its file, from 1.
        user_id: The buyer; None if the file does not say.
        idempotency_key: The client's name for the purchase; None if the file does not say.
    """

    line: int
    order_id: int
    user_id: int | None
    idempotency_key: str | None

    @property
    def checkout(self) -> str:
        """Identity of the checkout: user and key, or its line if the file has no user and key."""
        if self.user_id is None or self.idempotency_key is None:
            return f"line {self.line}"
        return f"{self.user_id}/{self.idempotency_key}"


def read_acknowledged(path: Path, tape: Path | None = None) -> Iterator[Acknowledgement]:
    """Reads the successful checkouts of a replay's journeys.jsonl, or of the journal of a kill test.

    Args:
        path: JSON lines with `journey`, `outcome` and `order_id`; `user_id` and `idempotency_key` are optional, in
            `params` or on the top level.
        tape: The replay's tape, which gives the user and the key for each `seq`; None for no tape.

    Raises:
        ValueError: A line is not valid.
        OSError: A file cannot be read.
    """
    by_seq: dict[int | None, dict[str, Any]] = {} if tape is None else dict(_read_tape(tape))
    for number, row in _rows(path):
        if row.get("journey") != "checkout" or row.get("outcome") != "ok":
            continue
        params: dict[str, Any] = {**by_seq.get(row.get("seq"), {}), **(row.get("params") or {}), **row}
        order_id, user_id, key = (params.get(name) for name in ("order_id", "user_id", "idempotency_key"))
        if not isinstance(order_id, int):
            raise ValueError(f"{path}, line {number}: a checkout that is ok needs an order_id, a number")
        if not isinstance(user_id, int | None):
            raise ValueError(f"{path}, line {number}: user_id must be a number")
        yield Acknowledgement(number, order_id, user_id, None if key is None else str(key))


def _read_tape(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Reads the number and the parameters of each journey."""
    for number, row in _rows(path):
        if row.get("seq") is not None:
            if row.get("params") is None:
                raise ValueError(f"{path}, line {number}: a journey on a tape needs params")
            yield row["seq"], row["params"]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: not a JSON object")
            if not isinstance(row.get("seq"), int | None):
                raise ValueError(f"{path}, line {number}: seq must be a number")
            if not isinstance(row.get("params"), dict | None):
                raise ValueError(f"{path}, line {number}: params must be a JSON object")
            yield number, row
