"""Why one topology's mean is below another's, in words: the groups of parts that make up the difference."""

from __future__ import annotations

from collections.abc import Sequence

from hops.conclusions.wording import excludes_zero, negate_interval
from hops.elements.numbers import figure
from hops.run.documents.difference import HopDifference, PartDifference

MIN_SHARE = 0.1
"""Minimum share of the whole difference for a group to be mentioned."""
MAX_FOR = 2
MAX_AGAINST = 2
MIN_WAVES = 0.1
"""Minimum difference in round trips to be mentioned, and only together with a group that grows with them."""
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
    "cache": "the cache",
    "sidecars": "the sidecars",
    "generator": "the client's own work",
    "unattributed": "unattributed time",
}
"""Name of each group of `hops.budget.groups.GROUPS` within a sentence."""
_BY_ROUND_TRIP = ("customer's network", "client wire")


def why(row: HopDifference | None, waves: Sequence[float]) -> list[str]:
    """Describes where the left topology saved time: `Of the 3.0 ms between their means, 2.4 ms (2.1 to 2.7) is ...`.

    Args:
        waves: Number of sequential round trips of a client in the left and the right topology.
    """
    if row is None:
        return []
    whole = -row["difference_ms"]
    if None in row["ci95"]:
        return ["Too few of these journeys were traced to say why."]
    if not excludes_zero(row["ci95"]):
        return [f"The traced means do not show it: they differ by {figure(whole, negate_interval(row['ci95']), 'ms')}."]
    if whole < 0:
        above = figure(-whole, row["ci95"], "ms")
        return [f"But its traced mean is {above} higher: the slowest journeys reverse the order."]
    least = MIN_SHARE * whole
    sure = [part for part in row["groups"] if excludes_zero(part["ci95"]) and abs(part["difference_ms"]) >= least]
    saved = sorted((part for part in sure if part["difference_ms"] < 0), key=lambda part: part["difference_ms"])
    taken = sorted((part for part in sure if part["difference_ms"] > 0), key=lambda part: -part["difference_ms"])
    if not saved:
        return [f"No single group of parts explains the {figure(whole, unit='ms')} between their means."]
    first, *others = saved[:MAX_FOR]
    between = f"the {figure(whole, unit='ms')} between their means"
    if -first["difference_ms"] <= whole:
        text = f"Of {between}, {_amount(first)} is {group_words(first['part'])}"
    else:
        text = f"More than {between}, {_amount(first)}, is {group_words(first['part'])} alone"
    texts = [" and ".join([text, *(f"{_amount(part)} {group_words(part['part'])}" for part in others)]) + "."]
    if taken:
        less = " and ".join(f"{_amount(part)} in {group_words(part['part'])}" for part in taken[:MAX_AGAINST])
        texts.append(f"It is partly offset by {less}.")
    by_round_trip = any(part["part"] in _BY_ROUND_TRIP for part in (first, *others, *taken[:MAX_AGAINST]))
    if by_round_trip and abs(waves[0] - waves[1]) >= MIN_WAVES:
        mine, other = (f"{value:.1f}".removesuffix(".0") for value in waves)
        texts.append(f"It makes {mine} round trip{'' if mine == '1' else 's'} instead of {other}.")
    return texts


def _amount(part: PartDifference) -> str:
    saved = part["difference_ms"] < 0
    ends = negate_interval(part["ci95"]) if saved else part["ci95"]
    return figure(abs(part["difference_ms"]), ends, "ms")


def group_words(group: str) -> str:
    """Names a group of parts within a sentence: `the services' work`."""
    return _WORDS.get(group, group)
