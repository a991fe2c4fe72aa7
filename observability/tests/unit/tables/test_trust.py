"""How far traces can be trusted, in words."""

from __future__ import annotations

import pytest

from hops.analysis.of_traces.operations import Trust
from hops.elements.element import Points
from hops.elements.table import Table
from hops.tables.of_traces.trust import trust_elements
from hops.traces.clocks import Clock


@pytest.mark.parametrize(("pairs", "which"), [(10, ""), (11, ", the 10 largest differences")])
def test_omitted_pairs_of_services_are_reported(pairs, which):
    differing = [Clock("a", f"b{number}", 5, 10, 20, 15) for number in range(pairs)]
    steady = [Clock("a", f"c{number}", 5, -10, 20, 0, 1, 7) for number in range(pairs)]
    points, table = trust_elements(Trust(clocks=[*differing, *steady]))
    assert isinstance(points, Points)
    assert isinstance(table, Table)
    assert table.caption == f"Services whose clocks differ{which}: how far the callee's is ahead, ms"
    assert len(table.rows) == 10
    assert ("; and less for 1 more pair of services. The time outside" in str(points)) == bool(which)
