"""The kind of experiment that injects faults."""

from hops.analysis.summary import no_pairs
from hops.kinds.chaos.analysis import chaos_figures, gates_of
from hops.kinds.chaos.charts import picture
from hops.kinds.chaos.tables import section
from hops.report.view import Kind

KIND = Kind(
    "What do customers see of a fault, how soon is it over, and is anything lost or doubled?",
    pairs_of=no_pairs,
    figures_of=chaos_figures,
    gates_of=gates_of,
    conclusions=section,
    arms="faults (each a trial of a topology)",
    in_detail=False,
    traced=False,
    picture=picture,
)
