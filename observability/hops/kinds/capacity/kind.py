"""The kind of experiment that measures the capacity of topologies."""

from hops.analysis.summary import no_pairs
from hops.kinds.capacity.analysis import capacity_figures, gates_of
from hops.kinds.capacity.charts import picture
from hops.kinds.capacity.tables import section
from hops.report.view import Kind

KIND = Kind(
    "How much load does each {noun.one} hold, and what is left beyond that?",
    pairs_of=no_pairs,
    figures_of=capacity_figures,
    gates_of=gates_of,
    conclusions=section,
    arms="steps (each a trial of {noun.a_one} under one load)",
    order="one {noun.one} after the other",
    in_detail=False,
    traced=False,
    picture=picture,
)
