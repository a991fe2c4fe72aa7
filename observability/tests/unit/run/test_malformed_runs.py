"""A results folder that somebody has damaged, or made up, is refused, with the name of the file and the fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hops.errors import MalformedRunError
from hops.run.files import read_run

Damage = Callable[[Path], object]
DEEP = "[" * 200_000


def text(content: str | bytes) -> Damage:
    """Replaces the whole file."""
    return lambda file: file.write_bytes(content if isinstance(content, bytes) else content.encode())


def document(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Changes a JSON file."""

    def damage(file: Path) -> None:
        made = json.loads(file.read_text())
        change(made)
        file.write_text(json.dumps(made))

    return damage


def frame(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Damage:
    """Changes a parquet file."""
    return lambda file: change(pl.read_parquet(file)).write_parquet(file)


def cut(file: Path) -> None:
    """Keeps the first half."""
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def torn(file: Path) -> None:
    """Overwrites bytes among the file's pages, which makes its reader panic."""
    whole = bytearray(file.read_bytes())
    whole[484:1020:3] = b"\xff" * len(whole[484:1020:3])
    file.write_bytes(whole)


CASES: list[tuple[str, Damage, str]] = [
    *(
        (name, damage, says)
        for name in ("manifest.json", "trials.json")
        for damage, says in (
            (Path.unlink, "the file is missing"),
            (cut, "not valid JSON"),
            (text(""), "not valid JSON"),
            (text(b"\xff\xfe{}"), "not valid JSON"),
            (text(DEEP), "nested too deeply"),
            (text('{"a":' * 100_000), "nested too deeply"),
            (text("[]"), "schema None"),
            (text("null"), "schema None"),
            (text('"\x1b[31m"'), "not valid JSON"),
            (text('{"schema": 99}'), "schema 99"),
            (text('{"schema": 3}'), "missing required field"),
        )
    ),
    *(
        ("manifest.json", document(lambda made, field=field: made.pop(field)), f"`{field}`")
        for field in ("mode", "topologies", "switches", "profile", "seeds", "tapes")
    ),
    ("manifest.json", document(lambda made: made.update(topologies=["rest"])), r"\$\.topologies"),
    ("manifest.json", document(lambda made: made.update(topologies={})),
     "trials.json: topologies that are not in manifest.json: rest"),
    ("manifest.json", document(lambda made: made.update(seeds={"tape": "one"})), r"\$\.seeds"),
    ("manifest.json", document(lambda made: made.update(name=7)), r"\$\.name"),
    ("manifest.json", document(lambda made: made.update(machine=0.5)), r"\$\.machine"),
    ("manifest.json", document(lambda made: made.update(arms={"rest": 1})), r"\$\.arms"),
    ("trials.json", document(lambda made: made.update(trials=[])), "has no trials"),
    ("trials.json", document(lambda made: made.update(trials={})), r"\$\.trials"),
    ("trials.json", document(lambda made: made.update(trials=[{}])), r"\$\.trials\[0\]"),
    ("trials.json", document(lambda made: made["trials"][0].pop("cpu_s")), "`cpu_s`"),
    ("trials.json", document(lambda made: made["trials"][0].update(block="1")), r"\$\.trials\[0\]\.block"),
    ("trials.json", document(lambda made: made["trials"][0].update(cpu_s={"edge": "much"})), r"\.cpu_s"),
    ("trials.json", document(lambda made: made["trials"][0].update(topology="soap")),
     "topologies that are not in manifest.json: soap"),
    ("trials.json", document(lambda made: [row.update(used=False) for row in made["trials"]]), "has no trials"),
    *(
        (name, damage, says)
        for name in ("journeys.parquet", "hops.parquet", "resources.parquet")
        for damage, says in (
            (Path.unlink, "the file is missing"),
            (cut, "not a valid parquet file"),
            (torn, "not a valid parquet file"),
            (text(""), "not a valid parquet file"),
            (text(b"PAR1" + b"\xff" * 64 + b"PAR1"), "not a valid parquet file"),
            (frame(lambda rows: rows.drop("topology")), "missing columns: topology"),
            (frame(lambda rows: rows.with_columns(block=pl.lit("first"))), "wrong type"),
            (frame(lambda rows: rows.with_columns(topology=pl.lit(None))), "columns with missing values: topology"),
        )
    ),
    ("journeys.parquet", frame(lambda rows: rows.drop("network_ns")), "missing columns: network_ns"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "says"), CASES)
def test_a_damaged_run_is_refused_by_its_file(folder: Path, name: str, damage: Damage, says: str) -> None:
    damage(folder / name)
    before = sorted(folder.iterdir())
    with pytest.raises(MalformedRunError, match=says) as refused:
        read_run(folder)
    assert str(refused.value).startswith(str(folder))
    assert sorted(folder.iterdir()) == before
