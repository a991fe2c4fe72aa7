"""The sections on the cost of tracing and on the contents of the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hops.elements import numbers
from hops.elements.element import Drawing, Element, Fold, Section, Text
from hops.elements.table import Column, Table, words
from hops.report.templates import render
from hops.report.view import View
from hops.tables.observer import observer_tables, observer_text

_LEFT_OUT = ("topologies", "schema")


def observer_section(view: View) -> Section:
    """Shows what tracing adds to the latencies, and where."""
    how = (
        "Traced journeys are chosen at random within each trial, so the difference between traced and untraced "
        "journeys is the cost of tracing. Hop budgets come from traced journeys only."
    )
    where = (
        "The edge logs every request, traced or not. So the same experiment is made for each place where a journey "
        "spends time; medians of the places need not add up to that of the whole. Each component measures after the "
        "load what a span costs the thread that makes it. Any further addition is chance, or the encoding, sending and "
        "storing of spans during the load."
    )
    tables = observer_tables(view)
    texts = [observer_text(view), Text(how), *([Text(where)] if len(tables) > 1 else [])]
    return Section("observer", "What tracing itself costs", [*texts, *tables], detail=True)


def manifest_section(manifest: Mapping[str, Any]) -> Section:
    """Shows the contents of the manifest."""
    shown = {key: value for key, value in manifest.items() if key not in _LEFT_OUT}
    rows = [[words(key), words(value)] for key, value in _flat(shown)]
    table = Table("manifest", "The manifest", [Column("key", numeric=False), Column("value", numeric=False)], rows)
    whole = json.dumps(manifest, indent=1, ensure_ascii=False)
    elements: list[Element] = [
        Text("Enough to run it again: code, versions, seeds, tapes, machine."),
        Fold("As a table", [table]),
        Fold("As JSON, including the topologies", [Drawing(render("code.html", text=whole))]),
    ]
    return Section("manifest", "What the run was made of", elements, detail=True)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, numbers.NOTHING if value is None else str(value)
