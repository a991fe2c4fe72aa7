"""The effect of the customers' distance: break-even distances, and medians on the named networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hops.conclusions.distance import break_even_words
from hops.conclusions.wording import but_untested, not_tested
from hops.elements.element import Element, Fold, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.run.documents.distance import AtNetwork, BreakEven, Distance
from hops.run.network import Network, in_words
from hops.tables.view import SummaryView
from hops.units import ALL

MODEL = (
    "p50 = own time + round trips × round-trip time + bytes ÷ bandwidth, for each measured journey, with the journey's "
    "own round trips. The medians are computed again at every distance."
)
_LIMITS = (
    "The model leaves out loss, jitter and queues in the customer's network. It also leaves out opening connections, "
    "unless the run opened them. The bytes of a journey travel in sequence at the full bandwidth. It assumes that the "
    "{system} takes as long for a distant customer as for a near one. “make rtt” measures what it predicts."
)
_TURNS = frozenset({"from", "several"})
"""Verdicts by which the ranking depends on the distance."""


def break_even_elements(view: SummaryView, distance: Distance) -> list[Element]:
    """Shows the pairs whose ranking flips, and lists all pairs in a collapsible section."""
    rows = [
        (journey, row)
        for journey in (ALL, *view.journeys)
        if journey in distance["journeys"]
        for row in distance["journeys"][journey]["pairs"]
    ]
    if not rows:
        return []
    turning = [one for one in rows if one[1]["verdict"] in _TURNS]
    noun = view.compared.one
    every = break_even_table(view, distance, rows, "break_even", f"Which {noun} is faster, by distance: every pair")
    if not turning:
        pairs = [row for _, row in rows]
        if all(row["verdict"] == "unknown" for row in pairs):
            text = f"Break-evens were {not_tested(row['reason'] for row in pairs)}."
        else:
            text = f"No pair is shown to change its order{but_untested(pairs)}."
        return [Text(text), Fold("Every pair", [every])]
    caption = f"Where the ranking flips: which {noun} is faster at p50, by round-trip time"
    return [
        break_even_table(view, distance, turning, "break_even_turns", caption),
        Text(
            f"After each {noun} are the journey's mean round trips. Within the 95 % interval of a break-even "
            f"neither {noun} is shown to be faster; an open end (…) lies beyond 0 or 200 ms. Which is faster at these "
            "two distances has passed the correction over all pairs and journeys.",
            tone="note",
        ),
        Fold("Every pair, including those whose order does not change", [every]),
    ]


def distance_lines(view: SummaryView) -> list[Element]:
    """Shows the pairs whose ranking flips, for a terminal; the report has the rest."""
    if "distance" not in view.summary:
        return []
    return [one for one in break_even_elements(view, view.summary["distance"]) if not isinstance(one, Fold)]


def break_even_table(
    view: SummaryView, distance: Distance, rows: list[tuple[str, BreakEven]], key: str, caption: str
) -> Table:
    """Makes a table with a row for each journey and pair of topologies."""
    columns = [Column(name, numeric=False) for name in ("journey", "fewer round trips", "against", "faster")]
    columns.append(Column("break-even", "ms", interval=True, spare=1))
    cells = [
        [
            words(journey),
            _name_cell(view, distance, journey, row["left"]),
            _name_cell(view, distance, journey, row["right"]),
            words(break_even_words(row)),
            estimate(row["at_ms"], row["ci95_ms"]),
        ]
        for journey, row in rows
    ]
    return Table(key, view.mark_caption(caption), columns, cells, heads=3)


def _name_cell(view: SummaryView, distance: Distance, journey: str, topology: str) -> Cell:
    trips = distance["journeys"][journey]["round_trips"][topology]
    return Cell(topology, topology, tone=view.mark(topology), note=f"{trips:.3g}")


def named_table(view: SummaryView, distance: Distance, journeys: Sequence[str], key: str) -> Table:
    """Lists the median latency of each journey on each named network."""
    places = distance["named"]
    columns = [Column("journey", numeric=False), view.topology_column]
    columns += [Column(name, "ms", interval=True) for name in places]
    rows = [
        [words(journey), view.name(topology), *(_cell(place, journey, topology) for place in places.values())]
        for journey in journeys
        for topology in view.topologies
        if topology in distance["journeys"].get(journey, {"curves": {}})["curves"]
    ]
    caption = f"p50 at the networks that have names, ms, with 95 % intervals{_fastest(view)}"
    return Table(key, view.mark_caption(caption), columns, rows, heads=2)


def model_elements(view: SummaryView, distance: Distance) -> list[Element]:
    """Describes what the distance model leaves out, and lists its inputs."""
    columns = [Column("journey", numeric=False), view.topology_column, Column("own time, p50", "ms", interval=True)]
    columns += [Column("round trips"), Column("down", "bytes"), Column("up", "bytes")]
    rows = [
        [
            words(journey),
            view.name(topology),
            estimate(own["value"], own["ci95"]),
            number(one["round_trips"][topology]),
            whole(one["bytes"][topology]["down"]),
            whole(one["bytes"][topology]["up"]),
        ]
        for journey in view.journeys_and_all
        if (one := distance["journeys"].get(journey))
        for topology, own in one["own_ms"].items()
    ]
    caption = "The model's inputs: own time, and means of round trips and of bytes with TCP headers"
    table = Table("distance_model", view.mark_caption(caption), columns, rows, heads=2)
    return [Text(_LIMITS.format(system=view.compared.system)), table]


def channel_table(view: SummaryView, distance: Distance) -> Table:
    """Lists the median latency of each channel, and of the mix, on the networks that the workload gives them."""
    columns = [Column("channel", numeric=False), Column("network", numeric=False)]
    columns += [Column(topology, "ms", interval=True) for topology in view.topologies]
    channels = sorted(distance["channels"].items(), key=lambda channel: channel[0] == ALL)
    rows = [
        [words(name), words(_network_words(place)), *(_cell(place, ALL, topology) for topology in view.topologies)]
        for name, place in channels
    ]
    caption = f"p50 of each channel's journeys at the network that the workload gives it{_fastest(view)}"
    return Table("distance_channels", view.mark_caption(caption), columns, rows, heads=2, totals=1)


def _fastest(view: SummaryView) -> str:
    return "; ✓: shown to be the fastest there" if len(view.topologies) > 1 else ""


def networks_text(places: Mapping[str, AtNetwork]) -> Text:
    """Describes the named networks."""
    text = ", ".join(_network_words(place) for place in places.values() if place["network"])
    return Text(f"Round-trip times and bandwidths down/up: {text}.", tone="note")


def _network_words(place: AtNetwork) -> str:
    return in_words(Network(**place["network"])) if place["network"] else "each its own"


def _cell(place: AtNetwork, journey: str, topology: str) -> Cell:
    p50 = place["p50_ms"].get(journey, {}).get(topology)
    if p50 is None:
        return estimate(None, (None, None))
    fastest = len(place["p50_ms"][journey]) > 1 and place["fastest"].get(journey) == [topology]
    cell = estimate(p50["value"], p50["ci95"])
    return Cell(cell.text, cell.value, cell.ends, note="✓") if fastest else cell
