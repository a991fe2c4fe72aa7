"""Budgets net of tracing: mean budgets without the cost that components report for making their spans."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from hops.budget.parts import is_sidecar, maker_of
from hops.conclusions.wording import join_names
from hops.elements.element import Text
from hops.elements.numbers import figure
from hops.run.documents.topology import JourneySummary
from hops.tables.view import SummaryView
from hops.units import ALL


class Net(NamedTuple):
    """The mean budget of a journey without the known cost of tracing: parts that are `not_known` keep their means."""

    ms: Mapping[str, float]
    not_known: Set[str]
    tracing_ms: float


def net_of(cell: JourneySummary) -> Net | None:
    """Computes the net budget of one journey; None if no component reported a cost."""
    parts = cell["net_of_tracing"]
    known = {name: ms for name, part in parts.items() if (ms := part["net_ms"]) is not None}
    if not known:
        return None
    tracing_ms = sum(part["tracing_ms"] or 0.0 for part in parts.values())
    return Net(cell["budget_ms"]["mean"] | known, parts.keys() - known.keys(), tracing_ms)


def net_text(view: SummaryView) -> Text | None:
    """Explains “net of tracing”, and compares the subtracted cost with the measured cost; None if no budget is net."""
    nets = {name: net for name, cell in view.cells(ALL) if (net := net_of(cell)) is not None}
    if not nets:
        return None
    measured = view.summary["observer_effect_ms"]["topologies"]
    sentences = [
        "“Net of tracing” is an estimate: a part's mean less the cost of making its spans on the critical path, as "
        "reported by the processes, and never below 0. Gross budgets add up to their traces to the nanosecond; net "
        "budgets add up, by construction, to the same less the stated cost."
    ]
    for name, net in nets.items():
        effect = measured[name]["p50"] if name in measured else None
        explained = f"In {name} the accounts explain {figure(net.tracing_ms, unit='ms')} of a mean journey"
        if effect is None:
            sentences.append(f"{explained}.")
        else:
            added = figure(effect, measured[name]["ci95"], "ms")
            sentences.append(
                f"{explained}, and only that is subtracted; as measured, tracing adds {added} to the median."
            )
    silent = _without_account(nets)
    if silent:
        sentences.append(
            f"No account is given by {join_names(silent)}: the cost of their spans is unknown, and still in the sums."
        )
    return Text(" ".join(sentences))


def _without_account(nets: Mapping[str, Net]) -> list[str]:
    makers = (maker_of(part) for net in nets.values() for part in net.not_known)
    names = sorted({maker[0] for maker in makers if maker is not None})
    sidecars = ["the sidecars"] if any(map(is_sidecar, names)) else []
    return [name for name in names if not is_sidecar(name)] + sidecars
