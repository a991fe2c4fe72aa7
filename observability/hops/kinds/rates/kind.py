"""The kind of experiment that varies the rate of the load."""

from hops.kinds.rates.analysis import rates_figures
from hops.kinds.rates.charts import charts
from hops.kinds.rates.document import AXIS
from hops.kinds.rates.tables import section
from hops.report.view import Kind

KIND = Kind(
    "How do latency and cost change with the load, and at which rate does the ranking of {noun.many} flip?",
    pairs_of=AXIS.pairs,
    figures_of=rates_figures,
    conclusions=section,
    arms="arms (one for each {noun.one} and rate)",
    picture=charts,
)
