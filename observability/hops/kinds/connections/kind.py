"""The kind of experiment that measures memory with open connections."""

from hops.analysis.summary import no_pairs
from hops.kinds.connections.memory import connections_figures, gates_of
from hops.kinds.connections.tables import section
from hops.report.view import Kind

KIND = Kind(
    "How much memory does each component use with so many open connections?",
    pairs_of=no_pairs,
    figures_of=connections_figures,
    gates_of=gates_of,
    conclusions=section,
)
