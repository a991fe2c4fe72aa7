"""The kind of experiment that varies the distance to customers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hops.analysis.summary import Measured
from hops.conclusions.wording import join_names
from hops.kinds.rtt.analysis import at_distances, distance_check, measured_distance
from hops.kinds.rtt.conclusions import at_distance
from hops.kinds.rtt.document import AXIS, check_of
from hops.kinds.rtt.tables import section
from hops.report.view import Kind, View
from hops.run.network import network_text
from hops.run.switches import switches_of


def figures_of(measured: Measured) -> Mapping[str, Any]:
    """Compares the model of distance with the measurements, and computes the model's figures from the nearest arms."""
    rtts_ms, distances = at_distances(measured.run, measured.latencies)
    return {
        "rtt": distance_check(rtts_ms, distances),
        "distance": measured_distance(rtts_ms, distances, measured.topologies),
    }


def network(view: View) -> str:
    """Lists all distances, and what the networks of the arms have in common."""
    arms = AXIS.arms(view.run.manifest)
    times_ms = join_names([f"{rtt_ms:g}" for rtt_ms in sorted({arm.at for arm in arms})])
    _, _, others = network_text(switches_of(view.run.manifest, arms[0].label)).partition(" ms")
    return f"{times_ms} ms, by arm{others}"


def nearest(view: View) -> View:
    """Selects the view of the nearest arms, which the model's curves come from."""
    return replace(view, summary=at_distance(view.summary, check_of(view.summary)["rtts_ms"][0]))


KIND = Kind(
    "How long do customers wait, and where?",
    pairs_of=AXIS.pairs,
    figures_of=figures_of,
    conclusions=section,
    arms="arms (one for each {noun.one} and round-trip time)",
    network=network,
    modelled=nearest,
)
