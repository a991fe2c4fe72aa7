"""The sentences around the comparisons: what they cost, what was not shown, and whether to believe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hops.analysis.pairs import Pairs
from hops.conclusions.wording import figure, listed, plural, sentence, turned
from hops.gates.trial import is_valid
from hops.gates.words import gate_text, verdict
from hops.run.documents import Summary, Verdict
from hops.units import ALL

TOTAL = "total"
#: A machine whose slowest trial has more than this share of its fastest one's speed is steady enough to say nothing.
STEADY = 0.9
#: Of a million journeys, as `hops.analysis.cost` has it.
_COST = "core-hours"


def cost_sentences(summary: Summary, pairs: Pairs) -> list[str]:
    """What a million journeys cost, cheapest first, and which of the differences in CPU are shown."""
    totals = {name: found["cost"][TOTAL] for name, found in summary["topologies"].items() if TOTAL in found["cost"]}
    if not totals:
        return []
    ranked = sorted(totals, key=lambda name: totals[name]["value"])
    told = [f"{figure(totals[name]['value'], totals[name]['ci95'], _COST)} with {name}" for name in ranked]
    found = [f"A million journeys cost {listed(told)}, the load generator left out."]
    best = ranked[0]
    for other in ranked[1:]:
        row = pairs.comparison(ALL, "cpu_ms", best, other)
        if row is None or row["difference"] is None or row["verdict"] == "unknown":
            continue
        if row["verdict"] == "left_lower":
            saved = figure(-row["difference"], turned(row["ci95"]), "ms")
            found.append(f"A journey takes {saved} less CPU with {best} than with {other}.")
        else:
            amount = figure(row["difference"], row["ci95"], "ms")
            found.append(f"No difference in CPU shown between {best} and {other}: {amount} a journey.")
    return found


def doubt_sentences(summary: Summary) -> list[str]:
    """How many comparisons show nothing, and which could not be made at all, with the reason."""
    found = []
    for metric in ("p50", "p99"):
        rows = [row for row in summary["comparisons"] if row["metric"] == metric and row["journey"] != ALL]
        tested = [row for row in rows if row["verdict"] != "unknown"]
        silent = sum(row["verdict"] == "not_shown" for row in tested)
        if silent:
            found.append(
                f"At {metric}, {silent:,} of {plural(len(tested), 'comparison')} of two topologies in a journey "
                f"{'shows' if silent == 1 else 'show'} no difference, which does not show that there is none."
            )
    reasons: dict[str, dict[str, list[str]]] = {}
    for row in summary["comparisons"]:
        if row["verdict"] == "unknown" and row["reason"]:
            what = "all journeys" if row["journey"] == ALL else row["journey"]
            names = reasons.setdefault(row["metric"], {}).setdefault(row["reason"], [])
            if what not in names:
                names.append(what)
    found += [
        f"Not tested at {metric}: "
        + "; ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())
        + "."
        for metric, by_reason in reasons.items()
    ]
    return found


def validity_sentences(summary: Summary) -> list[str]:
    """Whether the gates hold, which trials are suspect, what drove the load, and the observer effect."""
    found = [verdict(summary["gates"]).plain]
    if not summary["valid"] and is_valid(summary["gates"]):
        found = ["SUSPECT: the run says so, though each gate of the whole holds."]
    trials = [row for row in summary["verdicts"] if row["topology"] is not None]
    suspects = [row for row in trials if row["used"] and not row["valid"]]
    used = sum(row["used"] for row in trials)
    if suspects:
        reasons = Counter(gate_text(reason)[0] for row in suspects for reason in row["reasons"])
        told = listed([f"{reason} ({plural(count, 'trial')})" for reason, count in reasons.most_common()])
        found.append(f"{plural(len(suspects), 'trial')} of {used} {_is(len(suspects))} SUSPECT: {told}.")
    replaced = sum(not row["used"] for row in trials)
    if replaced:
        found.append(
            f"{plural(replaced, 'trial')} {_was(replaced)} run again; the earlier attempt is kept and not counted."
        )
    slow = _slowed_machine(trials)
    if slow:
        found.append(slow)
    if summary["closed"] is not None:
        found.append("The load is a closed loop: a slow topology got less of it, so the figures flatter the slow ones.")
    effect = summary["observer_effect_ms"]
    if effect["p50"] is not None:
        amount = figure(effect["p50"], effect["ci95"], "ms")
        found.append(f"Tracing adds {amount} to the median latency of a traced journey, in the figures above.")
    return [sentence(text) for text in found]


def _slowed_machine(trials: Sequence[Verdict]) -> str:
    """What to know if the machine was not equally fast in all trials; empty if it was, or nobody measured."""
    speeds = {(row["block"], row["topology"]): row["machine_speed"] for row in trials if row["used"]}
    known = {trial: speed for trial, speed in speeds.items() if speed is not None}
    if len(known) < 2 or min(known.values()) > STEADY:
        return ""
    (block, topology), slowest = min(known.items(), key=lambda item: item[1])
    return (
        "The machine itself was not equally fast in all trials: "
        f"beside block {block} of {topology} the same piece of work took {1 / slowest:.1f} times as long as beside "
        "the fastest. Ratios within a block suffer less from it than figures do."
    )


def suspects_by_trial(summary: Summary) -> list[Verdict]:
    """The trials that are suspect, those that a later attempt replaced among them."""
    return [row for row in summary["verdicts"] if row["topology"] is not None and not row["valid"]]


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"
