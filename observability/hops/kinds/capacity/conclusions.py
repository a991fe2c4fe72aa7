"""Results of a capacity run, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from hops.conclusions.wording import join_names, plural
from hops.elements import numbers
from hops.gates.limits import gate_name, kind_of
from hops.kinds.capacity.document import Capacity, HeldRatio, Load, by_load, find_claimed, find_confirmed, may_hold_more

ABOVE = {
    "shop": "It did not hold {failed:g} journeys a second.",
    "generator": "At {failed:g} journeys a second the load generator could not keep up, so it may hold more.",
    "max_rate": "No higher rate was allowed (max=).",
    "unknown": "The search ended before a rate failed.",
}
"""What is known about rates above the confirmed rate, by limit."""


def sentences(capacity: Capacity) -> list[str]:
    """Describes the result of each topology, and in how many steps the generator could not keep up."""
    texts = []
    for name, result in capacity["results"].items():
        if result["stopped"]:
            texts.append(f"{name} ended early: {result['stopped']}.")
        else:
            texts.append(SENTENCES[capacity["asked"]["load"]](capacity, name))
    texts += [_ratio(row) for row in capacity.get("ratios", [])]
    bounded = [name for name, one in capacity["results"].items() if may_hold_more(one)]
    if bounded and len(capacity["results"]) > 1 and "ratios" in capacity:
        texts.append(f"Not compared, because only a lower bound is known: {', '.join(bounded)}.")
    if len(capacity["results"]) > 1 and capacity["asked"]["load"] == "sweep" and "ratios" not in capacity:
        texts.append("A single search says little of small differences: give blocks=3 or more for intervals.")
    limited = [step for step in capacity["steps"] if step["limits"]]
    if limited:
        gates = sorted({gate_name(gate) for step in limited for gate in step["limits"]})
        text = f"GENERATOR: it could not keep up in {plural(len(limited), 'step')} ({'; '.join(gates)})."
        texts.append(f"{text} The figures are valid; a higher rate may hold. See docs/experiments/capacity.md.")
    return texts


def _capacity(capacity: Capacity, name: str) -> str:
    objective, result = capacity["asked"]["objective_ms"] or 0.0, capacity["results"][name]
    step = find_confirmed(capacity, name)
    if step is None:
        tried = ", ".join(f"{rate:g}" for rate in result["tried"]) or "none"
        return f"{name}: no rate was confirmed (tried: {tried})."
    at_least = "at least " if may_hold_more(result) else ""
    p99 = numbers.figure(step["latency_ms"]["p99"] or 0.0, step["latency_ci95"]["p99"], "ms")
    held, searches = result.get("held"), result.get("searches", [])
    if held is not None:
        each = ", ".join("none" if rate is None else f"{rate:g}" for rate in searches)
        return (
            f"{name} holds {at_least}{numbers.figure(held['value'], held['ci95'], 'journeys a second')} with p99 below "
            f"{objective:,g} ms, over {plural(len(searches), 'block')} ({each})."
        )
    return (
        f"{name} holds {at_least}{result['rate']:g} journeys a second with p99 below {objective:,g} ms: p99 was {p99} "
        f"over {step['journeys']:,} journeys. {ABOVE[result['limit']].format(failed=result['failed'])}"
    )


def _ratio(row: HeldRatio) -> str:
    """Describes which of two topologies sustains a higher rate, and how many times as high."""
    value, ends = row["ratio"]["value"], row["ratio"]["ci95"]
    low, high = ends
    factor = numbers.figure(value, ends)
    if low is None or high is None:
        return f"{row['left']} holds {factor} times what {row['right']} holds; fewer than 3 blocks have no interval."
    if low <= 1 <= high:
        return f"No difference is shown between what {row['left']} and {row['right']} hold: {factor} times."
    return f"{row['left']} holds {factor} times what {row['right']} holds."


def _most(capacity: Capacity, name: str) -> str:
    steps = by_load(capacity, name)
    best = max(steps, key=lambda step: step["throughput_per_s"])
    limit = kind_of("failure_share").limit
    failing = [step for step in steps if sum(step["errors"].values()) >= limit * step["journeys"] > 0]
    fails = "In every step, fewer than 0.1 % of the journeys failed."
    if failing:
        many = join_names([f"{step['users']:,}" for step in failing])
        fails = f"With {many} users, 0.1 % of the journeys or more fail."
    return (
        f"{name} completes at most {numbers.plain(best['throughput_per_s'])} journeys a second, with {best['users']:,} "
        f"users. {fails}"
    )


def _peak(capacity: Capacity, name: str) -> str:
    held, steps = capacity["results"][name]["rate"], find_claimed(capacity, name)
    if held is None or not steps:
        objective = capacity["asked"]["objective_ms"] or 0.0
        return (
            f"{name} holds no rate with p99 below {objective:,g} ms, so there is nothing to multiply. Give a higher "
            f"objective=, or capacity={name}:RATE."
        )
    highest = steps[-1]
    latest = max(steps, key=lambda step: math.inf if step["recovery_s"] is None else step["recovery_s"])
    goodput, p99 = 100 * highest["throughput_per_s"] / held, highest["latency_ms"]["p99"]
    waited = "" if p99 is None else f", with p99 at {numbers.plain(p99)} ms"
    recovery = "It had not recovered from a peak when the load ended."
    if latest["recovery_s"] is not None:
        within = f"within {latest['recovery_s']:g} s" if latest["recovery_s"] else "at once"
        recovery = f"It recovers {within} after each peak."
    rate = f"{name} holds {held:g} journeys a second"
    if name in capacity["asked"]["given"]:
        rate = f"capacity= says that {name} holds {held:g} journeys a second"
    return (
        f"{rate}{_not_held(capacity, name)}. At {(highest['rate'] or 0.0) / held:g} times that rate, it completes "
        f"{numbers.plain(highest['throughput_per_s'])} a second, {goodput:.0f} % of the {held:g}{waited}. {recovery}"
    )


def _not_held(capacity: Capacity, name: str) -> str:
    """Describes how a topology failed to sustain its rate in the overload's trial at that rate; otherwise empty."""
    objective, held = capacity["asked"]["objective_ms"] or 0.0, capacity["results"][name]["rate"]
    step = next((step for step in find_claimed(capacity, name) if step["rate"] == held), None)
    if step is None:
        return ""
    p99, failed = step["latency_ms"]["p99"], sum(step["errors"].values())
    if p99 is not None and p99 < objective and failed < kind_of("failure_share").limit * step["journeys"]:
        return ""
    latency = "none ended ok" if p99 is None else f"p99 was {numbers.plain(p99)} ms"
    return f", but it did not hold that rate in this run ({latency}, {failed:,} failed)"


SENTENCES: Mapping[Load, Callable[[Capacity, str], str]] = {"sweep": _capacity, "stress": _most, "overload": _peak}
