"""Why one topology's mean is below another's, in words: the groups of parts that carry the difference."""

from __future__ import annotations

from collections.abc import Sequence

from hops.conclusions.wording import shown, turned
from hops.elements.numbers import figure
from hops.run.documents.difference import HopDifference, PartDifference

LEAST_SHARE = 0.1
"""Groups with less of the whole difference are not worth a clause."""
MOST_FOR = 3
MOST_AGAINST = 2
LEAST_WAVES = 0.1
"""Least difference at which the number of round trips is given with the groups that grow with them."""
_WORDS = {
    "customer's network": "the customer's network",
    "handshakes": "opening connections",
    "client wire": "the wire from the client",
    "edge": "the edge",
    "gateways": "the gateways' work",
    "internal calls": "the calls between components",
    "busy components": "waiting for components that were busy with others",
    "services": "the services' work",
    "database": "the database",
    "sidecars": "the sidecars",
    "generator": "the client's own work",
    "unattributed": "unattributed time",
}
"""What each group of `hops.budget.groups.GROUPS` is called within a sentence."""
_BY_ROUND_TRIP = ("customer's network", "client wire")


def why(row: HopDifference | None, waves: Sequence[float]) -> str | None:
    """Where the time went that the left saved: `2.4 ms (2.1 to 2.7) of the 3.0 ms between their means is ...`.

    Args:
        row: Difference whose left is the faster topology; None if the summary does not say.
        waves: How many round trips a client makes one after the other, left and right.

    Returns:
        Words without a full stop; None if the budgets do not say anything.
    """
    if row is None:
        return None
    whole = -row["difference_ms"]
    if None in row["ci95"]:
        return "too few of these journeys were traced to say why"
    if not shown(row["ci95"]):
        return f"the traced means do not show it: they differ by {figure(whole, turned(row['ci95']), 'ms')}"
    if whole < 0:
        return (
            f"but its traced mean is {figure(-whole, row['ci95'], 'ms')} higher: the slowest journeys reverse the order"
        )
    sure = [part for part in row["groups"] if shown(part["ci95"]) and abs(part["difference_ms"]) >= LEAST_SHARE * whole]
    saved = sorted((part for part in sure if part["difference_ms"] < 0), key=lambda part: part["difference_ms"])
    taken = sorted((part for part in sure if part["difference_ms"] > 0), key=lambda part: -part["difference_ms"])
    if not saved:
        return f"no single group of parts explains the {figure(whole, unit='ms')} between their means"
    first, *others = saved[:MOST_FOR]
    between = f"the {figure(whole, unit='ms')} between their means"
    if -first["difference_ms"] <= whole:
        text = f"{_amount(first)} of {between} is {_words(first, waves)}"
    else:
        text = f"{_amount(first)} is {_words(first, waves)} alone, more than {between}"
    if others:
        text += ", and " + ", ".join(f"{_amount(part)} {_words(part, waves)}" for part in others)
    if taken:
        less = " and ".join(f"{_amount(part)} in {_words(part, waves)}" for part in taken[:MOST_AGAINST])
        text += f"; partly offset by {less}"
    return text


def _amount(part: PartDifference) -> str:
    saved = part["difference_ms"] < 0
    ends = turned(part["ci95"]) if saved else part["ci95"]
    return figure(abs(part["difference_ms"]), ends, "ms")


def _words(part: PartDifference, waves: Sequence[float]) -> str:
    text = _WORDS.get(part["part"], part["part"])
    if part["part"] in _BY_ROUND_TRIP and abs(waves[0] - waves[1]) >= LEAST_WAVES:
        mine, other = (f"{value:.1f}".removesuffix(".0") for value in waves)
        trips = "round trip" if mine == "1" else "round trips"
        text += f" ({mine} {trips} instead of {other})"
    return text
