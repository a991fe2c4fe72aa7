"""What each step of a ladder adds, in sentences."""

from __future__ import annotations

from hops.conclusions.wording import in_ms, join_names
from hops.kinds.ladder.document import Ladder, LadderRow, LadderStep
from hops.units import ALL

_NAMED_SHARE = 0.2
"""Minimum share of all changes outside the step's own parts for a group to be named."""


def row_of(step: LadderStep, journey: str = ALL) -> LadderRow | None:
    """Finds a step's figures in one journey; None if it has no figures there."""
    return next((row for row in step["rows"] if row["journey"] == journey), None)


def ladder_sentences(ladder: Ladder) -> list[str]:
    """Writes a sentence or two for each step."""
    return [_sentence(step) for step in ladder["steps"]]


def _sentence(step: LadderStep) -> str:
    row = row_of(step)
    if row is None:
        return f"{step['adds']}: not enough traced and untraced journeys in {step['lower']} and {step['upper']}."
    text = f"{step['adds']}: {in_ms(row['measured'])} measured, {in_ms(row['attributed'])} attributed."
    match row["verdict"]:
        case "agree":
            return f"{text} They agree: {in_ms(row['remainder'])} remains."
        case "differ":
            return f"{text} They differ by {in_ms(row['remainder'])}.{_elsewhere(row)}"
        case _:
            return f"{text} No verdict: {row['reason']}."


def _elsewhere(row: LadderRow) -> str:
    """Describes the change of the parts that do not belong to the step, and the groups that changed most."""
    changes = sum(abs(group["value"]) for group in row["groups"])
    if not changes:
        return ""
    named = sorted(row["groups"], key=lambda group: -abs(group["value"]))
    groups = [f"{group['group']} by {in_ms(group)}" for group in named if abs(group["value"]) >= _NAMED_SHARE * changes]
    return f" Parts that do not belong to the step changed by {in_ms(row['elsewhere'])}: {join_names(groups)}."
