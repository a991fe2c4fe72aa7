"""Definitions of the words in the report."""

from __future__ import annotations

from hops.elements.element import Section, Terms

GLOSSARY = {
    "journey": "One thing that a customer does, such as a checkout. It may take one request in one topology and five "
    "in another.",
    "channel": "Who sends a journey: web, mobile, or partner.",
    "topology": "Which components run, and what protocol each pair of them speaks.",
    "tape": "The fixed list of arrivals and journeys that every trial replays. The same tape is the same load.",
    "trial": "One replay of the tape against one topology or target; a shop's has fresh processes and a fresh "
    "database.",
    "block": "One trial of each topology, in random order, one right after another. Differences are taken within "
    "blocks, so that slow changes of the machine cancel out.",
    "arm, step": "One of the ways in which an experiment runs a topology, such as at one distance; two arms of a "
    "ladder that differ in one thing.",
    "latency": "The time from the intended arrival on the tape until the answer was read and checked.",
    "p50, p90, p99, p99.9": "Percentiles: 90 % of the journeys took at most p90. p50 is the median.",
    "95 % interval": "The range that contains the true figure, by a procedure that is right 95 times out of 100. An "
    "open end (…) means that the run was too short to tell.",
    "p, corrected": "The probability that chance alone shows a difference at least this large, corrected for making "
    "many comparisons at once. Below 5 % a difference counts as shown, or significant.",
    "visible": "The smallest difference that this run would have shown with 80 % power, given how its blocks scatter: "
    "a smaller difference may exist unseen.",
    "effect": "The probability that a journey of one topology is faster than one of the other: 0.5 where neither is "
    "faster.",
    "critical path": "At each moment of a journey, the one piece of work that its answer was waiting for.",
    "hop budget": "Where the time of a journey went along its critical path. The parts add up to the whole.",
    "sidecar": "A proxy next to a component that forwards everything that the component sends (outbound) and receives "
    "(inbound). Together they are the mesh.",
    "mTLS": "Mutual TLS: both ends of a connection prove by certificate which component they are.",
    "control plane": "What configures the sidecars and issues their certificates while they run.",
    "canary": "A second instance of the product service that gets a share of its calls.",
    "replica": "One of several processes of a component, which share its calls; its figures are those of all of them.",
    "round trips": "How often a journey waits for an answer before it can send the next request: its waves. Each takes "
    "the round-trip time between customer and edge.",
    "break-even distance": "The round-trip time from which a topology with fewer round trips overtakes a topology that "
    "is faster at the edge.",
    "hop": "One link crossed once, from a caller to its callee.",
    "part": "One line of a hop budget: the work of a component, the wire between two, a database, a cache, a proxy.",
    "band": "The traces whose end-to-end time lies near a percentile; the budget of a band is their mean.",
    "exemplar": "One real trace that represents a percentile: the nearest to it.",
    "customer's network": "What lies between a customer and the edge, if the run emulates it; as a part of a budget, "
    "the time it took.",
    "handshakes": "Waiting for connections to the edge to be opened: TCP and TLS, or QUIC.",
    "client wire": "Between the client and the first component, without an emulated network: queues, encoding and "
    "decoding of messages; and the wait for a connection that another request uses (client:waiting).",
    "internal calls": "The same, between two components of the shop.",
    "busy components": "Time of a call spent waiting for an event loop that was busy with other work (queue:…).",
    "start lag": "The time from the intended to the actual start of a journey. If it is large, the load generator was "
    "the bottleneck.",
    "observer effect": "What tracing itself adds to the latency.",
    "net of tracing": "A budget without the cost of its spans, as measured by the processes that made them: an "
    "estimate.",
    "gate": "A condition that a trial must meet. If all hold, the run is VALID. If only gates about the machine fail, "
    "it is NOISY: latencies may be too high. Otherwise it is WRONG.",
    "core-hour": "One CPU core fully used for an hour.",
    "open loop, closed loop": "What starts a journey: the tape, at fixed times (open), or virtual users, each after "
    "its last answer (closed).",
}


def glossary_section() -> Section:
    """Makes the section that defines the words in the report."""
    return Section("glossary", "Words", [Terms(list(GLOSSARY.items()))], detail=True)
