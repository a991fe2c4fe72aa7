"""At which distance the ranking of topologies flips, in sentences."""

from __future__ import annotations

from collections import Counter

from hops.conclusions.wording import but_untested, join_names
from hops.elements.compared import TARGET, compared_in
from hops.elements.numbers import figure, plain
from hops.run.documents.distance import BreakEven, Distance
from hops.run.documents.summary import Summary
from hops.run.network import Network, in_words, networks_of
from hops.units import ALL

_MAX_NAMED = 3
"""Maximum number of journeys other than the mix that get a sentence; the section on distance has all."""
_RTT = "of round-trip time"


def at_place(summary: Summary, sentences: list[str]) -> list[str]:
    """Begins the first sentence with the network on which the measurements were made."""
    place = _place(summary)
    if not place or not sentences:
        return sentences
    first, *others = sentences
    if first.partition(" ")[0] not in summary["topologies"]:
        first = first[0].lower() + first[1:]
    return [f"{place}, {first}", *others]


def _place(summary: Summary) -> str:
    networks = networks_of(summary["switches"])
    if not networks:
        return f"With no distance between customer and {compared_in(summary).entry}"
    if "network" not in summary:
        return ""
    if len(set(networks.values())) == 1:
        return _at(next(iter(networks.values())))
    return f"With {join_names([f'{channel} on {in_words(network)}' for channel, network in networks.items()])}"


def _at(network: Network) -> str:
    if network.name is not None:
        return f"On {in_words(network)}"
    limited = network.down_mbit is not None or network.up_mbit is not None
    return f"At {in_words(network)}" if limited else f"At {plain(network.rtt_ms)} ms {_RTT}"


def turn_sentences(summary: Summary, distance: Distance) -> list[str]:
    """Describes from which distance a topology overtakes the fastest at the edge, in the mix and frequent journeys."""
    pairs = [row for one in distance["journeys"].values() for row in one["pairs"]]
    if not pairs or all(row["verdict"] == "unknown" for row in pairs):
        return []
    counts: Counter[str] = Counter()
    for topology in summary["topologies"].values():
        counts.update({name: cell["count"] for name, cell in topology["journeys"].items()})
    journeys = sorted(distance["journeys"].keys() - {ALL}, key=lambda name: (-counts[name], name))
    turns = {name: text for name in (ALL, *journeys) if (text := _turn_sentence(distance, name))}
    noun = compared_in(summary).one
    reach = f"up to {plain(distance['grid_ms'][-1])} ms {_RTT}"
    if not turns:
        where = f"in the mix or in a journey{but_untested(pairs)}"
        return [f"No {noun} is shown to overtake the fastest one {reach}, {where}."]
    named = [name for name in turns if name != ALL][:_MAX_NAMED]
    sentences = [turns[name] for name in (ALL, *named) if name in turns]
    of_mix = distance["journeys"][ALL]["pairs"] if ALL in distance["journeys"] else []
    if ALL not in turns and any(row["verdict"] != "unknown" for row in of_mix):
        untested = but_untested(of_mix)
        sentences.insert(0, f"Over the whole mix no {noun} is shown to overtake the fastest one {reach}{untested}.")
    return sentences


def first_turn(distance: Distance) -> str:
    """Describes where a topology first overtakes the fastest one: `hybrid from 7.6 ms away for order_history`."""
    turns = {name: turn for name in distance["journeys"] if (turn := _overtaking(distance, name)) is not None}
    if not turns:
        return ""
    journey = ALL if ALL in turns else min(turns, key=lambda name: turns[name]["at_ms"] or 0.0)
    return f"{turns[journey]['sooner']} from {plain(turns[journey]['at_ms'])} ms away for {journey_name(journey)}"


def where(summary: Summary) -> str:
    """Describes where customers were: `next to the shop`, `on 4g (70 ms, 12/12 Mbit/s)`; empty if networks differed."""
    networks = set(networks_of(summary["switches"]).values())
    if not networks:
        return "without distance" if compared_in(summary) is TARGET else "next to the shop"
    place = _at(networks.pop()) if len(networks) == 1 else ""
    return place[:1].lower() + place[1:]


def _overtaking(distance: Distance, journey: str) -> BreakEven | None:
    """Finds the nearest distance at which a topology overtakes the fastest one at the edge; None if none can."""
    one = distance["journeys"][journey]
    if not one["curves"]:
        return None
    fastest = min(one["curves"], key=lambda name: one["curves"][name][0])
    rows = [
        row
        for row in one["pairs"]
        if row["verdict"] == "from" and fastest in (row["left"], row["right"]) and row["sooner"] != fastest
    ]
    return min(rows, key=lambda row: row["at_ms"] or 0.0, default=None)


def journey_name(journey: str) -> str:
    """Names a journey within a sentence."""
    return "the whole mix" if journey == ALL else journey


def _turn_sentence(distance: Distance, journey: str) -> str:
    """Describes where a topology overtakes the fastest one, or which ranking flips more than once; empty if none."""
    row = _overtaking(distance, journey)
    if row is None:
        several = next((one for one in distance["journeys"][journey]["pairs"] if one["verdict"] == "several"), None)
        if several is None:
            return ""
        pair = f"{several['left']} and {several['right']}"
        return f"For {journey_name(journey)}, the ranking of {pair} flips more than once: {break_even_words(several)}."
    assert row["at_ms"] is not None
    start = f"From {figure(row['at_ms'], row['ci95_ms'], 'ms')} {_RTT} on,"
    other = row["right"] if row["sooner"] == row["left"] else row["left"]
    return f"{start} {row['sooner']} answers {journey_name(journey)} faster than {other}."


def break_even_words(row: BreakEven) -> str:
    """Describes which topology of a pair is faster at which distance: `hybrid from 9 ms (7 to 12) on`."""
    low, high = row["ci95_ms"]
    match row["verdict"]:
        case "from" if row["at_ms"] is not None:
            return f"{row['sooner']} from {figure(row['at_ms'], (low, high), 'ms')} on"
        case "beyond":
            return f"{row['sooner']} from {plain(high)} ms on; not shown nearer"
        case "up_to":
            return f"{row['sooner']} up to {plain(low)} ms; not shown beyond"
        case "always":
            return f"always {row['sooner']}"
        case "never":
            return f"never {row['left']}: {row['sooner']} at every distance"
        case "several":
            ends = [(one["sooner"], plain(one["from_ms"]), plain(one["to_ms"])) for one in row["stretches"]]
            return join_names([f"{sooner} from {first} to {last} ms" for sooner, first, last in ends])
        case "not_shown":
            return "not shown"
        case _:
            return row["reason"] or "not tested"
