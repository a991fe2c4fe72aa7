"""What tracing cost, what the run was made of, and what its words mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hops.report import numbers
from hops.report.blocks import Block, Drawing, Fold, Section, Text
from hops.report.page_templates import render
from hops.report.table import Column, Table, words
from hops.report.view import View

_LEFT_OUT = ("topologies", "schema")


def observer_section(view: View) -> Section:
    """What tracing adds to the latencies."""
    effect = view.summary["observer_effect_ms"]
    value, (low, high) = effect["p50"], effect["ci95"]
    if value is None:
        text = "Not measured: too few sampled or unsampled journeys."
    else:
        ends = numbers.interval((low, high), signed=True)
        text = f"A traced journey takes {numbers.plain(value, signed=True)} ms more at the median"
        text += f" (95 % interval {ends})." if ends else "."
        if low is not None and high is not None and low <= 0 <= high:
            text += " The interval includes zero: the cost of tracing is too small for this run to see."
    how = (
        "Which journeys are traced is drawn at random within each trial, so the difference between traced and untraced "
        "journeys is what tracing costs. Hop budgets are of traced journeys only."
    )
    return Section("observer", "What tracing itself costs", [Text(text, tone="finding"), Text(how)])


def manifest_section(view: View) -> Section:
    """What the run was made of."""
    manifest = view.run.manifest
    rows = [
        [words(key), words(value)] for key, value in _flat({k: v for k, v in manifest.items() if k not in _LEFT_OUT})
    ]
    table = Table("manifest", "The manifest", [Column("key", numeric=False), Column("value", numeric=False)], rows)
    whole = json.dumps(manifest, indent=1, ensure_ascii=False)
    folds: list[Block] = [
        Fold("As a table", [table]),
        Fold("As JSON, topologies too", [Drawing(render("code.html", text=whole))]),
    ]
    return Section(
        "manifest",
        "What the run was made of",
        [Text("Enough to run it again: code, versions, seeds, tapes, machine."), *folds],
    )


GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "journey",
        "One thing that a customer does, such as a checkout. It may take one request in one topology and five in "
        "another.",
    ),
    ("channel", "Who sends a journey: web, mobile, or partner."),
    ("topology", "Which components run, and what protocol each pair of them speaks."),
    ("tape", "The fixed list of arrivals and journeys that every trial replays. The same tape is the same load."),
    ("trial", "One replay of the tape against one topology, with fresh processes and a fresh database."),
    (
        "block",
        "One trial of each topology, in random order, soon after one another. Differences are taken inside blocks, "
        "so that what changes slowly on the machine cancels out.",
    ),
    ("latency", "From the intended arrival on the tape to the moment at which the answer was read and checked."),
    ("p50, p90, p99, p99.9", "Percentiles: so many percent of the journeys took at most this long. p50 is the median."),
    (
        "95 % interval",
        "Where the true figure lies, by a procedure that is right 95 times of 100. An open end (…) means that "
        "the run was too short to know.",
    ),
    (
        "p, Holm",
        "How likely a difference as large as this one would be if there were none, corrected by Holm's procedure "
        "for asking many questions at once. Below 5 % a difference counts as shown.",
    ),
    (
        "effect",
        "The chance that a journey of one topology takes less time than one of the other: 0.5 where neither is "
        "quicker.",
    ),
    ("critical path", "At each moment of a journey, the one piece of work that its answer was waiting for."),
    ("hop budget", "Where the time of a journey went along its critical path. The parts add up to the whole."),
    ("part", "One line of a hop budget: the work of a component, the wire between two, a database, a proxy."),
    ("band", "The traces whose whole time lies near a percentile; a budget of a band is their mean."),
    ("exemplar", "One real trace that stands for a percentile: the nearest to it."),
    (
        "client network",
        "Between the customer and the first component: network, queues, and packing and unpacking of messages.",
    ),
    ("internal calls", "The same between components of the shop."),
    (
        "start lag",
        "From the intended to the actual start of a journey. If it is large, the load generator was the limit.",
    ),
    ("observer effect", "What tracing itself adds to the latency."),
    (
        "gate",
        "A condition that a trial must meet. If all hold the run is VALID, else SUSPECT: the figures may be wrong.",
    ),
    ("core-hour", "One processor core in full use for an hour."),
    (
        "open loop, closed loop",
        "Who says when a journey starts: the tape, whatever the system does; or virtual users, each "
        "once it has its answer.",
    ),
)


def glossary_section() -> Section:
    """The words of this report."""
    return Section("glossary", "Words", [Drawing(render("glossary.html", terms=GLOSSARY))])


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, "–" if value is None else str(value)
