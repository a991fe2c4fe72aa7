"""An experiment over rates among the kinds of experiments."""

from __future__ import annotations

from itertools import combinations

from hops.kinds.rates.analysis import rates_figures
from hops.kinds.rates.arms import arms_of
from hops.kinds.rates.charts import charts
from hops.kinds.rates.tables import section
from hops.report.view import Kind
from hops.run.files import RunFiles


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """The arms at the same rate, or at the same share of what each topology holds."""
    pairs = combinations(arms_of(run.manifest), 2)
    return [
        (left.label, right.label)
        for left, right in pairs
        if left.topology != right.topology
        and (left.percent == right.percent if left.percent is not None else left.rate == right.rate)
    ]


KIND = Kind(
    "How do latency and cost change with the load, and at which rate does the ranking of topologies flip?",
    pairs_of=pairs_of,
    figures_of=rates_figures,
    conclusions=section,
    arms="arms (one for each topology and rate)",
    picture=charts,
)
