"""How the seconds of a run's trials were spent."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hops.elements.compared import Compared
from hops.elements.table import Column, Table, number, words
from hops.run.documents.trial import TrialRecord
from hops.run.loads import length_s

PHASES = {
    "start": "start",
    "parity": "parity",
    "warmup": "warm-up",
    "replay": "load",
    "stop": "stop",
    "collect": "traces, audit",
    "analysis": "analysis",
}
"""A trial's phases in their order, and their column names."""


def seconds_table(trials: Sequence[TrialRecord], manifest: Mapping[str, Any], compared: Compared) -> Table:
    """Lists each topology's mean seconds of all attempts by phase, and how many were neither warm-up nor load."""
    rows = []
    for topology in dict.fromkeys(trial["topology"] for trial in trials):
        loaded_s = manifest["profile"]["warmup_s"] + length_s(manifest, topology)
        phases = [trial["phases_s"] for trial in trials if trial["topology"] == topology]
        took_s = statistics.fmean(sum(each.values()) for each in phases)
        means = [statistics.fmean(each.get(phase, 0.0) for each in phases) for phase in PHASES]
        rows.append([words(topology), *map(number, means), number(took_s), number(took_s - loaded_s)])
    columns = [Column(name, "s") for name in (*PHASES.values(), "all", "overhead")]
    title = "Where a trial's seconds went; the overhead is all but the planned warm-up and load"
    return Table("seconds", title, [Column(compared.one, numeric=False), *columns], rows)
