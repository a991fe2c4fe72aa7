"""The measurements at several distances, and whether the model of distance holds, in sentences."""

from __future__ import annotations

from typing import Literal

from hops.analysis.either_order import rename_arms
from hops.conclusions.comparison import fastest_by_place
from hops.conclusions.distance import break_even_words, journey_name
from hops.conclusions.wording import but_untested, in_ms, join_names, not_tested, plural, sentence
from hops.elements.compared import Compared, compared_in
from hops.elements.numbers import figure, times
from hops.kinds.rtt.document import AXIS, BreakEvenCheck, DistanceCheck, JourneySlope, check_of
from hops.run.documents.distance import Turning
from hops.run.documents.estimate import Agreement
from hops.run.documents.summary import Summary

TOLERANCE = 0.05
"""Maximum relative difference between the slope of p50 and the number of round trips."""
_VERDICTS: dict[Agreement, str] = {"agree": "they agree", "differ": "they differ", "unknown": "no verdict"}


def rtt_sentences(summary: Summary) -> list[str]:
    """Describes the fastest topology at each distance, and how well the model fits: slopes, points, break-evens."""
    check = check_of(summary)
    texts = [
        _fastest(summary),
        _slopes(check["slopes"], compared_in(summary)),
        _points(check),
        _break_evens(check["break_evens"]),
    ]
    return [sentence(text) for text in texts if text]


def break_even_sentences(check: DistanceCheck) -> list[str]:
    """Writes a sentence for each pair and journey whose ranking flips, measured or predicted; if none does, one."""
    rows = check["break_evens"]
    texts = [_break_even(row) for row in rows if {"from", "several"} & _verdicts(row)]
    if texts:
        return [sentence(text) for text in texts]
    if all(_verdicts(row) == {"unknown"} for row in rows):
        return [f"Rankings were {not_tested(row['reason'] for row in rows)}."]
    untested = but_untested([row["measured"] for row in rows])
    return [f"No ranking is shown to flip within the measured distances{untested}."]


def _verdicts(row: BreakEvenCheck) -> set[Turning]:
    return {row["measured"]["verdict"], row["predicted"]["verdict"]}


def at_distance(summary: Summary, rtt_ms: float) -> Summary:
    """Selects the topologies and comparisons at one round-trip time, under the topologies' names."""
    return rename_arms(summary, {AXIS.label(name, rtt_ms): name for name in check_of(summary)["topologies"]})


def interval_within(row: JourneySlope) -> Literal["yes", "no", "undecided", "unknown"]:
    """Says whether a slope's whole interval is close enough to the number of round trips."""
    low, high = row["ratio"]["ci95"]
    if low is None or high is None:
        return "unknown"
    if low >= 1 - TOLERANCE and high <= 1 + TOLERANCE:
        return "yes"
    return "no" if high < 1 - TOLERANCE or low > 1 + TOLERANCE else "undecided"


def _fastest(summary: Summary) -> str:
    rtts_ms = check_of(summary)["rtts_ms"]
    text = fastest_by_place({f"{rtt_ms:g}": at_distance(summary, rtt_ms) for rtt_ms in rtts_ms}, " ms")
    return text and f"Fastest over the whole mix at p50, by the round-trip time: {text}"


def _slopes(slopes: list[JourneySlope], compared: Compared) -> str:
    if not slopes:
        return ""
    within = sum(abs(row["ratio"]["value"] - 1) <= TOLERANCE for row in slopes)
    ends = [interval_within(row) for row in slopes]
    wholly = f"In {ends.count('yes')} of them, so does the whole 95 % interval"
    if set(ends) == {"unknown"}:
        wholly = "None of them has an interval"
    farthest = max(slopes, key=lambda row: abs(row["ratio"]["value"] - 1))
    return (
        f"In {within} of {plural(len(slopes), 'case')} (a journey in {compared.a_one}), p50 grows with the round-trip "
        f"time as the round trips predict, to within {100 * TOLERANCE:.0f} %. {wholly}. Farthest "
        f"from the prediction is {farthest['journey']} in {farthest['topology']}, "
        f"with {times(farthest['ratio']['value'], farthest['ratio']['ci95'])} as much"
    )


def _points(check: DistanceCheck) -> str:
    tested = [row for row in check["points"] if row["verdict"] != "unknown"]
    if not tested:
        return f"The model was {not_tested(row['reason'] for row in check['points'])}" if check["points"] else ""
    agree = sum(row["verdict"] == "agree" for row in tested)
    worst = max(tested, key=lambda row: abs(row["difference"]["value"]) / row["measured"]["value"])
    return (
        f"The model, from the arms at {check['rtts_ms'][0]:g} ms, predicts {agree} of {len(tested)} measured p50 of "
        "the others within the 95 % interval of the difference. The largest difference is "
        f"{in_ms(worst['difference'])}, measured minus predicted, of "
        f"{journey_name(worst['journey'])} in {worst['topology']} at {worst['rtt_ms']:g} ms, where p50 is "
        f"{figure(worst['measured']['value'], unit='ms')}"
    )


def _break_evens(rows: list[BreakEvenCheck]) -> str:
    both = [row for row in rows if row["difference"] is not None]
    if not both:
        if rows and all(_verdicts(row) == {"unknown"} for row in rows):
            return f"Break-evens were {not_tested(row['reason'] for row in rows)}"
        untested = but_untested([row["measured"] for row in rows])
        return f"No break-even is shown both as measured and as predicted{untested}"
    differ = [
        f"{row['measured']['left']} and {row['measured']['right']} in {journey_name(row['journey'])}"
        for row in both
        if row["verdict"] == "differ"
    ]
    shown, within = "shown both as measured and as predicted", "within their joint 95 % interval"
    if len(both) == 1:
        one = f"The one break-even that is {shown}"
        return f"{one}, of {differ[0]}, does not agree {within}" if differ else f"{one} agrees {within}"
    text = f"{len(both) - len(differ)} of {len(both)} break-evens that are {shown} agree {within}"
    return f"{text}; those of {join_names(differ)} differ" if differ else text


def _break_even(row: BreakEvenCheck) -> str:
    pair = f"{row['measured']['left']} and {row['measured']['right']}"
    text = (
        f"{pair}, {journey_name(row['journey'])}: measured, {break_even_words(row['measured'])}; "
        f"predicted, {break_even_words(row['predicted'])}"
    )
    return f"{text}: {_VERDICTS[row['verdict']]}"
