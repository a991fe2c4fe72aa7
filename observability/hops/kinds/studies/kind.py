"""The kind of experiment that replays published studies."""

from hops.kinds.studies.analysis import figures_of, pairs_of
from hops.kinds.studies.charts import picture
from hops.kinds.studies.tables import answer, section
from hops.report.view import Kind

KIND = Kind(
    "Which claims of published studies hold on these topologies, and why?",
    called="replay of studies",
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section,
    marked=False,
    arms="arms (a topology under one load of a study)",
    picture=picture,
    answer=answer,
)
