"""A comparison of topologies among the kinds of experiments."""

from __future__ import annotations

from hops.kinds.compare.terminal import compare
from hops.report.view import Kind

KIND = Kind(
    "Which topology is faster, for which journey, by how much, and how certain is that?",
    compare,
    called="comparison",
)
