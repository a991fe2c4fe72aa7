"""The kind of experiment that looks for growth under long load."""

from hops.analysis.summary import no_pairs
from hops.kinds.soak.analysis import gates_of, soak_figures
from hops.kinds.soak.tables import section
from hops.report.view import Kind

KIND = Kind(
    "Does anything grow while the {noun.system} is under load for long?",
    pairs_of=no_pairs,
    figures_of=soak_figures,
    gates_of=gates_of,
    conclusions=section,
)
