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
    "shop": "{failed:g} a second were too many",
    "generator": "at {failed:g} the generator could not keep up, so the shop's limit may be higher",
    "max_rate": "no higher rate was allowed",
    "unknown": "the search ended before a rate failed",
}
"""What stands above the rate that was confirmed, by the limit."""


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
        f"{name} holds {at_least}{result['rate']:g} journeys a second with p99 under {objective:g} ms: p99 was {p99} "
        f"over {step['generator']['journeys']:,} journeys; "
        f"{ABOVE[result['limit']].format(failed=result['failed'])}."
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
        "no step had 0.1 % failures or more" if first is None else f"failures reach 0.1 % at {first['users']:,} users"
    )
    return (
        f"{name} answers at most {numbers.plain(best['throughput_per_s'])} journeys a second, at {best['users']:,} "
        f"users; {fails}."
    )


def _peak(document: Document, name: str) -> str:
    held, steps = document["results"][name]["rate"], claimed(document, name)
    if held is None or not steps:
        objective = document["options"]["objective_ms"]
        return (
            f"{name} holds no rate with p99 under {objective:g} ms, so there is nothing to multiply; give a higher "
            f"objective=, or capacity={name}:RATE."
        )
    highest, latest = steps[-1], max(steps, key=lambda step: step["recovery_s"] or math.inf)
    goodput, p99 = 100 * highest["throughput_per_s"] / held, highest["latency_ms"]["p99"]
    waited = "none of them" if p99 is None else f"p99 of these {numbers.plain(p99)} ms"
    over = "not over when the load ended"
    if latest["recovery_s"] is not None:
        over = f"over within {latest['recovery_s']:g} s of each peak" if latest["recovery_s"] else "over with each peak"
    said, of = f"{name} holds {held:g} journeys a second", "what it holds"
    if name in document["options"].get("capacity", {}):
        said, of = f"{held:g} journeys a second were given for {name}", "what was given"
    return (
        f"{said}{_not_held(document, name)}; at {(highest['rate'] or 0.0) / held:g} times as many, {goodput:.0f} % of "
        f"{of} end ok, {waited}; {over}."
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
    return f", which it did not hold here ({latency}, {failed:,} failed)"


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
    told = f"GENERATOR: in {plural(len(limited), 'step')} the generator could not keep up ({'; '.join(gates)})."
    return f"{told} That makes no figure less trustworthy; see docs/experiments/capacity.md."
