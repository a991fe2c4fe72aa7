"""What over-fetching costs, and what field selection saves, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from hops.analysis.over_fetching import MATTERS
from hops.conclusions.notes import cpu_sentence
from hops.conclusions.reasons import group_words
from hops.conclusions.wording import excludes_zero, in_ms, join_names, negate_interval
from hops.elements.numbers import figure, plain, share
from hops.run.documents.estimate import Estimate
from hops.run.documents.over_fetching import OverFetching, Saving
from hops.units import ALL

SLOW = "4g"
"""The named network for which sentences give the cost of over-fetching."""


def over_fetching_headline(rows: Sequence[OverFetching]) -> list[str]:
    """Describes below which bandwidth over-fetching matters, in the worst case; empty if there are no rows."""
    if not rows:
        return []
    if not any(row["fields_beyond"] for row in rows):
        return ["Nothing is over-fetched."]
    worst = max(rows, key=lambda row: row["matters_below_mbit"] or 0.0)
    if worst["matters_below_mbit"] is None:
        return [f"Over-fetching takes less than {share(MATTERS, 0)} of p50 at any bandwidth."]
    sent = figure(worst["sent_beyond"]["value"], worst["sent_beyond"]["ci95"], "bytes")
    return [
        f"Over-fetching takes {share(MATTERS, 0)} of p50 or more below {plain(worst['matters_below_mbit'])} Mbit/s, in "
        f"the worst case: {worst['topology']} sends {sent} beyond the screen of {worst['journey']}, "
        f"{figure(worst['ms'][SLOW], unit='ms')} on {SLOW}."
    ]


def over_fetching_sentences(rows: Sequence[OverFetching]) -> list[str]:
    """Describes how much data each topology sends that the screen does not show, and when that matters."""
    return [
        sentence
        for journey in dict.fromkeys(row["journey"] for row in rows)
        for sentence in _of_journey(journey, [row for row in rows if row["journey"] == journey])
    ]


def _of_journey(journey: str, rows: Sequence[OverFetching]) -> list[str]:
    lean = [row["topology"] for row in rows if not row["fields_beyond"]]
    nothing = f"For {journey}, {join_names(lean)} over-fetch{'es' if len(lean) == 1 else ''} nothing."
    sentences = [nothing] if lean else []
    for row in rows:
        if not row["fields_beyond"]:
            continue
        sent = figure(row["sent_beyond"]["value"], row["sent_beyond"]["ci95"], "bytes")
        matters, least = row["matters_below_mbit"], share(MATTERS, 0)
        when = f"less than {least} of p50 at any bandwidth"
        if matters:
            when = f"{least} of p50 below {plain(matters)} Mbit/s"
        sentences.append(
            f"For {journey}, {row['topology']} over-fetches {sent} of an answer, {share(row['sent_share'], 0)} of it: "
            f"{figure(row['ms'][SLOW], unit='ms')} on {SLOW}. They take {when}."
        )
    return sentences


def selection_sentences(rows: Sequence[Saving]) -> list[str]:
    """Says how much time field selection saves in each journey, by part, and how much CPU time over the whole mix."""
    of_mix = [cpu_sentence(row["cpu"]) for row in rows if row["journey"] == ALL]
    return [*(_saving(row) for row in rows if row["journey"] != ALL), *filter(None, of_mix)]


def _saving(row: Saving) -> str:
    if None in row["mean_ms"]["ci95"]:
        return f"For {row['journey']}, too few journeys were traced to say what {row['selecting']} saves."
    known = {group: part for group, part in row["parts_ms"].items() if excludes_zero(part["ci95"])}
    saved = [f"{in_ms(part)} of {group_words(group)}" for group, part in known.items() if part["value"] > 0]
    added = [f"{in_ms(_negate(part))} to {group_words(group)}" for group, part in known.items() if part["value"] < 0]
    start = f"For {row['journey']}, {row['selecting']}"
    if not known:
        return f"For {row['journey']}, no part is shown to differ between {row['usual']} and {row['selecting']}."
    first, *rest = [f"saves {join_names(saved)}"] * bool(saved) + [f"adds {join_names(added)}"] * bool(added)
    return " ".join([f"{start} {first}, compared with {row['usual']}.", *(f"It {other}." for other in rest)])


def _negate(part: Estimate) -> Estimate:
    return Estimate(value=-part["value"], ci95=negate_interval(part["ci95"]))
