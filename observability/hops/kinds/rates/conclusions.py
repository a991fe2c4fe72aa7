"""The effect of load on topologies, in sentences."""

from __future__ import annotations

from hops.analysis.either_order import rename_arms
from hops.conclusions.comparison import fastest_by_place
from hops.conclusions.wording import but_untested, not_tested, sentence
from hops.elements.compared import Compared, compared_in
from hops.elements.numbers import figure, plain
from hops.kinds.rates.analysis import MACHINE
from hops.kinds.rates.document import Crossing, Rates, rates_of
from hops.run.documents.summary import Summary
from hops.units import ALL

_A_SECOND = "journeys a second"


def rates_sentences(summary: Summary) -> list[str]:
    """Describes which topology is the fastest at which rate, where the ranking flips, and what is full first."""
    rates = rates_of(summary)
    texts = [_fastest(summary), *_turns(rates, compared_in(summary)), _first_full(rates, compared_in(summary))]
    return [sentence(text) for text in texts if text]


def crossing_words(row: Crossing) -> str:
    """Describes which topology is faster, by rate: `grpc from 34 journeys a second (28 to 40) on`."""
    low, high = row["ci95"]
    match row["verdict"]:
        case "from":
            assert row["at"] is not None
            return f"{row['faster']} from {figure(row['at'], (low, high), _A_SECOND)} on"
        case "beyond":
            return f"{row['faster']} from {plain(high)} {_A_SECOND} on; not shown below"
        case "up_to":
            return f"{row['faster']} up to {plain(low)} {_A_SECOND}; not shown beyond"
        case "always" | "never":
            return f"{row['faster']} at every rate"
        case "several":
            return "by turns"
        case "not_shown":
            return "not shown"
        case _:
            return row["reason"] or "not tested"


def _fastest(summary: Summary) -> str:
    rates = rates_of(summary)
    if len({arm["topology"] for arm in rates["arms"]}) < 2:
        return ""
    names = {
        rate: {arm["label"]: arm["topology"] for arm in rates["arms"] if (arm["rate"], arm["percent"]) == (rate, None)}
        for rate in rates["equal"]
    }
    text = fastest_by_place({f"{rate:g}": rename_arms(summary, of_rate) for rate, of_rate in names.items()})
    return text and f"Fastest over the whole mix at p50, by {_A_SECOND}: {text}"


def _turns(rates: Rates, compared: Compared) -> list[str]:
    rows = [row for row in rates["crossings"] if row["journey"] == ALL]
    tested = [row for row in rows if row["verdict"] != "unknown"]
    if not tested:
        return [f"Where the ranking flips was {not_tested(row['reason'] for row in rows)}"] if rows else []
    turns = [row for row in tested if row["verdict"] in ("from", "several")]
    if not turns:
        reach = f"up to {rates['equal'][-1]:g} {_A_SECOND}"
        return [f"No ranking of two {compared.many} is shown to flip {reach}{but_untested(rows)}"]
    return [f"{row['left']} and {row['right']}, {row['metric']}: {crossing_words(row)}" for row in turns]


def _first_full(rates: Rates, compared: Compared) -> str:
    """Describes what is full first: `graphql fills the machine's 2 cores at 87 journeys a second`."""
    first = {row["topology"]: row for row in reversed(rates["fillings"])}
    if not first:
        return ""
    row = min(first.values(), key=lambda row: row["at"]["value"])
    what = f"the machine's {row['limit']:g} cores"
    if row["component"] != MACHINE:
        loops = "event loop" if row["limit"] == 1 else f"{row['limit']:g} event loops"
        what = f"{row['component']}'s {loops}"
    rate = figure(row["at"]["value"], row["at"]["ci95"], _A_SECOND)
    others = [one["at"]["ci95"][0] for one in first.values() if one is not row]
    high = row["at"]["ci95"][1]
    is_first = others and high is not None and all(low is not None and low > high for low in others)
    before_others = f", before any other {compared.one}" if is_first else ""
    return f"By its use of processors, {row['topology']} fills {what} at {rate}{before_others}"
