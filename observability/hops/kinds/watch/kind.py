"""The kind of experiment that has customers wait for updates."""

from hops.analysis.summary import no_pairs
from hops.kinds.watch.analysis import gates_of, watch_figures
from hops.kinds.watch.tables import section
from hops.report.view import Kind

KIND = Kind(
    "How late do customers learn of changes to their orders, and what does their waiting cost?",
    pairs_of=no_pairs,
    figures_of=watch_figures,
    gates_of=gates_of,
    conclusions=section,
    arms="numbers of watchers (each a trial of a topology and a way to wait)",
    in_detail=False,
)
