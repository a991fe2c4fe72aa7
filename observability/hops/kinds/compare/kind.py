"""The kind of experiment that compares topologies."""

from hops.report.view import Kind
from hops.terminal.comparison import compare

KIND = Kind(
    "Which {noun.one} is faster, for which journey, by how much, and how certain is that?",
    compare,
    called="comparison",
)
