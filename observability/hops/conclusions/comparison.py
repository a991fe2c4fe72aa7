"""What a summary says, in sentences. Every figure in them comes from the summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hops.analysis.either_order import Pairs, value_of
from hops.conclusions import notes
from hops.conclusions.distance import at_place, first_turn, turn_sentences, where
from hops.conclusions.meetings import meeting_sentences, wait_sentences
from hops.conclusions.over_fetching import over_fetching_headline, over_fetching_sentences, selection_sentences
from hops.conclusions.reasons import why
from hops.conclusions.wording import clause, excludes_zero, join_names, mark_lines, negate_interval, plural, sentence
from hops.elements.compared import compared_in
from hops.elements.numbers import UNKNOWN, figure, p_value, times
from hops.run.documents.difference import Comparison
from hops.run.documents.summary import Summary
from hops.run.fault_notice import fault_notice
from hops.statistics.over_blocks import MIN_BLOCKS
from hops.units import ALL

HEADLINE_METRICS = ("p50", "p99")
"""The latency of a typical journey, and the latency that one journey in a hundred exceeds."""
MAX_TURNS = 2
"""Maximum number of sentences about ranking flips in `Conclusions.context`; further ones are in `Conclusions.mix`."""
BIG_RATIO = 1.5
"""Minimum ratio of two latencies at which a sentence also says how many times as long the slower topology takes."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Which topology has the lowest value in one metric of one journey.

    Args:
        first: The topology with the lowest value, followed by topologies not shown to be above it.
        behind: Comparisons of the lowest (left) with each topology shown to be above it (right), nearest first.
        level: Comparisons of the lowest (left) with each other topology in `first` (right).
        untested: By name of another topology, why the lowest could not be compared with it.
    """

    first: list[str]
    behind: list[Comparison]
    level: list[Comparison]
    untested: dict[str, str]


@dataclass(frozen=True, slots=True)
class Conclusions:
    """Sentences by topic, in reading order.

    Args:
        headline: The first sentences: which topology is the fastest in how many journeys, and what over-fetching costs.
        context: What an architect must know: distance, tail latency, what ran during slow journeys, the load.
        mix: Sentences about the whole mix, with the reasons for differences.
        journeys: Sentences by journey, excluding `all`.
        cost: Sentences about CPU time and over-fetching.
        doubts: Sentences about differences that were not shown, and comparisons that could not be tested.
        validity: Caveats about the run: failing gates, what drove the load, what tracing adds.
    """

    headline: list[str]
    context: list[str]
    mix: list[str]
    journeys: dict[str, list[str]]
    cost: list[str]
    doubts: list[str]
    validity: list[str]


def grouped_conclusions(summary: Summary) -> Conclusions:
    """Writes all conclusions as sentences; unless the run is VALID, the first sentence begins with the verdict."""
    pairs = Pairs(summary)
    many = len(summary["topologies"]) > 1
    refusal = explain_refusal(summary) if many else None
    notice = fault_notice(summary["switches"])
    journeys = {name: _journey(summary, pairs, name, refusal) for name in pairs.journeys()}
    fastest, slow_end, mix = _over_all(summary, pairs, refusal)
    turns = turn_sentences(summary, summary["distance"]) if many and not refusal and "distance" in summary else []
    meetings = meeting_sentences(summary)
    over_fetching = summary.get("over_fetching", [])
    beyond = [*over_fetching_sentences(over_fetching), *selection_sentences(summary.get("selection", []))]
    headline = [*([notice] if notice else []), *fastest, *over_fetching_headline(over_fetching)]
    return Conclusions(
        headline=mark_lines(summary["verdict"], headline[:1]) + headline[1:],
        context=[
            *slow_end,
            *turns[:MAX_TURNS],
            *meetings[:1],
            *notes.load_sentences(summary),
            *notes.cache_sentences(summary),
            *notes.edge_cache_sentences(summary),
        ],
        mix=[*mix, *turns[MAX_TURNS:], *meetings[1:]],
        journeys={name: texts for name, texts in journeys.items() if texts},
        cost=list(dict.fromkeys([*notes.cost_sentences(summary, pairs), *beyond])),
        doubts=notes.doubt_sentences(summary) if many and refusal is None else [],
        validity=notes.validity_sentences(summary),
    )


def answer_title(summary: Summary) -> str:
    """Gives the answer of a run in one line, for a title; empty if there is none.

    For example: `rest has the lowest median over the whole mix next to the shop; hybrid from 7.6 ms away for
    order_history`.
    """
    if len(summary["topologies"]) == 1:
        ((name, measured),) = summary["topologies"].items()
        median = measured["journeys"][ALL]["latency_ms"]["p50"] if ALL in measured["journeys"] else None
        return "" if median is None else f"{name} answers half of all journeys within {figure(median, unit='ms')}"
    if explain_refusal(summary) is not None:
        return ""
    first = fastest(summary, ALL)
    if not first:
        return ""
    place = f" {there}" if (there := where(summary)) else ""
    if len(first) == len(summary["topologies"]):
        return f"{join_names(first)} are equally fast{place}, as far as this run can tell"
    turn = first_turn(summary["distance"]) if "distance" in summary else ""
    answer = f"{join_names(first)} {'has' if len(first) == 1 else 'have'} the lowest median over the whole mix{place}"
    return f"{answer}; {turn}" if turn else answer


def explain_refusal(summary: Summary) -> str | None:
    """Explains why no differences between topologies can be reported; None if some can."""
    rows = summary["comparisons"]
    if not rows:
        return "the run has no comparisons"
    if any(row["verdict"] != "unknown" for row in rows):
        return None
    reasons = dict.fromkeys(row["reason"] for row in rows if row["reason"])
    if summary["blocks"] < MIN_BLOCKS:
        there = f"there {'is' if summary['blocks'] == 1 else 'are'} {plural(summary['blocks'], 'block')}"
        return f"{there}, and an interval of a difference needs {MIN_BLOCKS}"
    return clause(next(iter(reasons), "nothing could be tested"))


def standing(pairs: Pairs, journey: str, metric: str) -> Standing | None:
    """Finds the topology with the lowest value; None if no topology has a value.

    Other topologies are level with it if no difference is shown.
    """
    ranked = pairs.ranking(journey, metric)
    if not ranked:
        return None
    best, *others = ranked
    place = Standing(first=[best], behind=[], level=[], untested={})
    for other in others:
        row = pairs.comparison(journey, metric, best, other)
        if row is None or row["verdict"] == "unknown":
            reason = row["reason"] if row is not None else "the run does not compare them"
            place.untested[other] = reason or "nothing could be tested"
        elif row["verdict"] == "left_lower":
            place.behind.append(row)
        else:
            place.first.append(other)
            place.level.append(row)
    return place


def fastest(summary: Summary, journey: str) -> list[str]:
    """Lists the topologies not shown to be slower at p50 than the fastest; empty if not tested."""
    place = standing(Pairs(summary), journey, "p50")
    return [] if place is None or place.untested else place.first


def fastest_by_place(summaries: Mapping[str, Summary], unit: str = "") -> str:
    """Describes the fastest topology by place: `rest at 0 and 20 ms; none is shown at 60 ms`; empty if not tested."""
    at: dict[str, list[str]] = {}
    for place, summary in summaries.items():
        topologies, names = list(summary["topologies"]), fastest(summary, ALL)
        if not names:
            return ""
        ordered = join_names(sorted(names, key=topologies.index), "or")
        at.setdefault(ordered if len(names) < len(topologies) else "none is shown", []).append(place)
    return "; ".join(f"{who} at {join_names(places)}{unit}" for who, places in at.items())


def faster(row: Comparison) -> str:
    """Describes the lead of the left topology: `3.1 ms (2.7 to 3.6) faster than rest at p50`; often also as a ratio."""
    assert row["difference"] is not None
    lead = figure(-row["difference"], negate_interval(row["ci95"]), "ms")
    text = f"{lead} faster than {row['right']} at {row['metric']}"
    if row["p_corrected"] is not None:
        text += f", {p_value(row['p_corrected'])} after correction"
    # The test uses the ratio. The difference also varies from block to block, so its interval may include 0.
    if row["ratio"] and (1 / row["ratio"] >= BIG_RATIO or not excludes_zero(row["ci95"])):
        low, high = row["ratio_ci95"]
        ends = [1 / high if high else None, 1 / low if low else None]
        text += f"; {row['right']} takes {times(1 / row['ratio'], ends)} as long"
    return text


def no_difference(row: Comparison) -> str:
    """Writes `no difference shown between a and b at p50: -0.2 ms (-0.9 to 0.5), and this run would have seen 9 %`.

    The verdict is corrected for multiple comparisons, and the interval is not. If the interval excludes zero but the
    corrected p value is too large, the text says so.
    """
    assert row["difference"] is not None
    amount = figure(row["difference"], row["ci95"], "ms")
    text = f"no difference shown between {row['left']} and {row['right']} at {row['metric']}: {amount}"
    if excludes_zero(row["ci95"]) and row["p_corrected"] is not None:
        text += f", not significant after correction ({p_value(row['p_corrected'])})"
    return text + notes.and_seen(row)


def _over_all(summary: Summary, pairs: Pairs, refusal: str | None) -> tuple[list[str], list[str], list[str]]:
    """Names the fastest topology at the median and at p99, then describes each topology over the whole mix."""
    if len(summary["topologies"]) == 1:
        return at_place(summary, _alone(summary, next(iter(summary["topologies"])), ALL)), [], []
    if refusal is not None:
        each = [text for name in summary["topologies"] for text in _alone(summary, name, ALL)]
        return [f"No conclusions about differences: {refusal}."], [], at_place(summary, each)
    usual, slow_end = (_tally(summary, pairs, metric) for metric in HEADLINE_METRICS)
    mix = [text for metric in HEADLINE_METRICS for text in _rank(summary, pairs, ALL, metric)]
    return (at_place(summary, usual), slow_end, mix) if usual else (at_place(summary, mix), slow_end, [])


def _tally(summary: Summary, pairs: Pairs, metric: str) -> list[str]:
    """Counts the journeys in which each topology is the fastest, among journeys that were tested for every topology."""
    every = {name: standing(pairs, name, metric) for name in pairs.journeys()}
    places = {name: place for name, place in every.items() if place and not place.untested}
    if not places:
        return []
    noun, measured = compared_in(summary).one, len(every)
    names = dict.fromkeys(name for place in places.values() for name in place.first)
    everywhere = [name for name in names if all(name in place.first for place in places.values())]
    if not everywhere:
        have = "has" if len(places) == 1 else "have"
        only = f"; only {len(places)} of {measured} journeys {have} enough data" if len(places) < measured else ""
        return [f"At {metric} no {noun} is the fastest everywhere: {_leaders(places, noun)}{only}."]
    if len(everywhere) == len(summary["topologies"]):
        any_of = _journeys(places, measured, "any of {} journeys")
        return [f"At {metric} no {noun} is significantly slower than the fastest, in {any_of}."]
    are = "is" if len(everywhere) == 1 else "are"
    alone = all(place.first == everywhere for place in places.values())
    level = "" if len(everywhere) == 1 and alone else ", or not significantly slower than the fastest,"
    of_all = _journeys(places, measured, "all {} journeys")
    return [f"At {metric} {join_names(everywhere)} {are} the fastest{level} in {of_all}."]


def _journeys(places: Mapping[str, Standing], measured: int, several: str) -> str:
    """Describes the journeys that could be tested: `all 9 journeys (of 11) that have enough data`."""
    count = len(places)
    tested = "" if count == measured else f" (of {measured}) that {'has' if count == 1 else 'have'} enough data"
    return ("the one journey" if count == 1 else several.format(count)) + tested


def _leaders(places: Mapping[str, Standing], noun: str) -> str:
    """Names the journeys in which one topology alone is the fastest, and counts the other journeys."""
    firsts: dict[str, list[str]] = {}
    for name, place in places.items():
        if len(place.first) == 1:
            firsts.setdefault(place.first[0], []).append(name)
    parts = [f"{name} alone is the fastest in {join_names(led)}" for name, led in sorted(firsts.items())]
    rest = len(places) - sum(len(led) for led in firsts.values())
    if rest:
        parts.append(f"in {plural(rest, 'journey')} no single fastest {noun} is shown")
    return "; ".join(parts)


def _journey(summary: Summary, pairs: Pairs, journey: str, refusal: str | None) -> list[str]:
    if len(summary["topologies"]) == 1:
        return _alone(summary, next(iter(summary["topologies"])), journey)
    if refusal is not None:
        cells = {name: summary["topologies"][name]["journeys"][journey] for name in pairs.ranking(journey, "p50")}
        values = [
            f"{name} {figure(cell['latency_ms']['p50'] or 0.0, cell['latency_ci95'].get('p50', UNKNOWN), 'ms')}"
            for name, cell in cells.items()
        ]
        return [f"{journey} at p50: {' to '.join(dict.fromkeys((values[0], values[-1])))}."] if values else []
    return [text for metric in HEADLINE_METRICS for text in _rank(summary, pairs, journey, metric)]


def _rank(summary: Summary, pairs: Pairs, journey: str, metric: str) -> list[str]:
    """Describes the lowest topology in a metric: its lead over each other topology, why, and what is not shown."""
    place = standing(pairs, journey, metric)
    if place is None:
        return []
    what = "the whole mix" if journey == ALL else journey
    where = "Over the whole mix" if journey == ALL else f"For {journey}"
    best = place.first[0]
    value = value_of(summary, best, journey, metric)
    assert value is not None
    sentences: list[str] = []
    for row in place.behind:
        text = sentence(f"{best} answers {what} {faster(row)}")
        # The budgets are means, which explain typical journeys; the bands in the report explain the tail.
        reasons = _why(summary, pairs, journey, best, row["right"]) if metric == "p50" else []
        waits = wait_sentences(summary, journey, metric, best, row["right"])
        sentences.append(" ".join([text, *reasons, *waits]))
    sentences += [sentence(f"{where} there is {no_difference(row)}") for row in place.level]
    # Journeys that could not be tested at all are listed among the doubts, grouped by reason.
    if place.untested and (sentences or journey == ALL):
        names, reason = join_names(list(place.untested)), next(iter(place.untested.values()))
        lowest = f"The lowest figure is {figure(value, unit='ms')}, of {best}."
        sentences.append(f"{where}, {metric} was not tested against {names}: {clause(reason)}. {lowest}")
    return sentences


def _why(summary: Summary, pairs: Pairs, journey: str, left: str, right: str) -> list[str]:
    waves = [summary["topologies"][name]["journeys"][journey]["waves_mean"] for name in (left, right)]
    return why(pairs.hops(journey, left, right), waves)


def _alone(summary: Summary, name: str, journey: str) -> list[str]:
    cell = summary["topologies"][name]["journeys"].get(journey)
    if cell is None or cell["latency_ms"]["p50"] is None or cell["latency_ms"]["p99"] is None:
        return []
    half, most = (
        figure(cell["latency_ms"][metric] or 0.0, cell["latency_ci95"].get(metric, UNKNOWN), "ms")
        for metric in HEADLINE_METRICS
    )
    what = "all journeys" if journey == ALL else journey
    return [f"{name} answers half of {what} within {half}, and 99 % within {most}."]
