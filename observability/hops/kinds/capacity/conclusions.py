"""What a sweep or a stress test says, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.gates.limits import gate_name, kind_of
from hops.gates.verdict import Doubt, worst_verdict
from hops.kinds.capacity.document import (
    PEAK_PARTS,
    STAIRS,
    Document,
    Kind,
    by_load,
    claimed,
    confirmed,
    doubts_about,
    generator_limits,
    topologies,
)

ABOVE = {
    "shop": "It did not hold {failed:g} a second.",
    "generator": "At {failed:g} a second the load generator could not keep up, so the shop may hold more.",
    "max_rate": "No higher rate was allowed (max=).",
    "unknown": "The search ended before a rate failed.",
}
"""What is known of higher rates than the confirmed one, by the limit."""


def sentences(document: Document) -> list[str]:
    """The results, a sentence for each topology."""
    texts = []
    for name in topologies(document):
        result = document["results"].get(name)
        if result is None:
            texts.append(f"{name}: not finished.")
        elif result["stopped"]:
            texts.append(f"{name} ended early: {result['stopped']}.")
        else:
            texts.append(SENTENCES[document["kind"]](document, name))
    return texts


def _capacity(document: Document, name: str) -> str:
    objective, step, result = document["options"]["objective_ms"], confirmed(document, name), document["results"][name]
    if step is None:
        tried = ", ".join(f"{rate:g}" for rate in result["tried"]) or "none"
        return f"{name}: no rate was confirmed (tried: {tried})."
    at_least = "" if result["limit"] == "shop" else "at least "
    p99 = numbers.figure(step["latency_ms"]["p99"] or 0.0, step["latency_ci95"]["p99"], "ms")
    return (
        f"{name} holds {at_least}{result['rate']:g} journeys a second with p99 below {objective:g} ms: p99 was {p99} "
        f"over {step['generator']['journeys']:,} journeys. {ABOVE[result['limit']].format(failed=result['failed'])}"
    )


def _most(document: Document, name: str) -> str:
    steps = by_load(document, name)
    best = max(steps, key=lambda step: step["throughput_per_s"])
    first = next(
        (
            step
            for step in steps
            if sum(step["errors"].values()) >= kind_of("failure_share").limit * step["generator"]["journeys"] > 0
        ),
        None,
    )
    fails = (
        "In every step, fewer than 0.1 % of the journeys failed."
        if first is None
        else f"From {first['users']:,} users on, 0.1 % of the journeys or more fail."
    )
    return (
        f"{name} completes at most {numbers.plain(best['throughput_per_s'])} journeys a second, with {best['users']:,} "
        f"users. {fails}"
    )


def _peak(document: Document, name: str) -> str:
    held, steps = document["results"][name]["rate"], claimed(document, name)
    if held is None or not steps:
        objective = document["options"]["objective_ms"]
        return (
            f"{name} holds no rate with p99 below {objective:g} ms, so there is nothing to multiply. Give a higher "
            f"objective=, or capacity={name}:RATE."
        )
    highest, latest = steps[-1], max(steps, key=lambda step: step["recovery_s"] or math.inf)
    goodput, p99 = 100 * highest["throughput_per_s"] / held, highest["latency_ms"]["p99"]
    waited = "" if p99 is None else f", with p99 at {numbers.plain(p99)} ms"
    recovery = "It had not recovered from a peak when the load ended."
    if latest["recovery_s"] is not None:
        within = f"within {latest['recovery_s']:g} s" if latest["recovery_s"] else "at once"
        recovery = f"It recovers {within} after each peak."
    rate = f"{name} holds {held:g} journeys a second"
    if name in document["options"].get("capacity", {}):
        rate = f"capacity= says that {name} holds {held:g} journeys a second"
    return (
        f"{rate}{_not_held(document, name)}. At {(highest['rate'] or 0.0) / held:g} times that rate, it completes "
        f"{numbers.plain(highest['throughput_per_s'])} a second, {goodput:.0f} % of the {held:g}{waited}. {recovery}"
    )


def _not_held(document: Document, name: str) -> str:
    """What says that a topology did not hold its rate under an overload's own load; empty if nothing does."""
    objective, held = document["options"]["objective_ms"], document["results"][name]["rate"]
    step = next((step for step in claimed(document, name) if step["rate"] == held), None)
    if step is None:
        return ""
    p99, failed = step["latency_ms"]["p99"], sum(step["errors"].values())
    sent = (step["rate"] or 0.0) * step["duration_s"] * PEAK_PARTS / len(STAIRS)
    if p99 is not None and p99 < objective and failed < kind_of("failure_share").limit * sent:
        return ""
    latency = "none ended ok" if p99 is None else f"p99 was {numbers.plain(p99)} ms"
    return f", but it did not hold that rate in this run ({latency}, {failed:,} failed)"


SENTENCES: Mapping[Kind, Callable[[Document, str], str]] = {"sweep": _capacity, "stress": _most, "overload": _peak}


def doubts(document: Document) -> list[Doubt]:
    """Why figures must not be trusted, topology by topology; empty if all are sound."""
    interrupted = Doubt("the run was interrupted; what is here is what it had finished")
    by_topology = {name: doubts_about(document, name) for name in topologies(document)}
    return ([] if document["complete"] else [interrupted]) + [
        Doubt(f"{name}: {'; '.join(one.text for one in of)}", worst_verdict(one.verdict for one in of))
        for name, of in by_topology.items()
        if of
    ]


def generator_sentence(document: Document) -> str:
    """In how many steps the generator could not keep up; empty if it always could."""
    limited = [step for step in document["steps"] if generator_limits(step)]
    if not limited:
        return ""
    gates = sorted({gate_name(gate) for step in limited for gate in generator_limits(step)})
    return (
        f"GENERATOR: it could not keep up in {plural(len(limited), 'step')} ({'; '.join(gates)}). The figures are "
        "valid; the shop may hold more. See docs/experiments/capacity.md."
    )
