from __future__ import annotations

from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.kinds.isolate import isolate_arms, require_others
from experiment.plan.workload import mix_of, workload_file
from mesh.description.topology import load_topology

GRAPHQL = load_topology("graphql")
DEFAULT = workload_file("default")


def test_arms_differ_only_in_the_disturber() -> None:
    as_is, without, apart = isolate_arms(GRAPHQL, "bulk_lines", {"trace": "0.5"})
    assert [arm.label for arm in (as_is, without, apart)] == ["as-is", "without-bulk_lines", "apart-bulk_lines"]
    assert (as_is.without, without.without, apart.without) == ("", "bulk_lines", "")
    assert as_is.switches == without.switches
    one, other = as_is.switches.as_dict(), apart.switches.as_dict()
    assert {key: other[key] for key in one if one[key] != other[key]} == {"apart": "bulk_lines"}
    assert as_is.tape == apart.tape != without.tape


def test_without_an_edge_no_journey_can_be_separated() -> None:
    with pytest.raises(UsageError, match="arm apart-bulk_lines: apart=bulk_lines needs an edge"):
        isolate_arms(GRAPHQL, "bulk_lines", {"edge": "none", "http": "1"})


def test_a_journey_that_the_workload_lacks_is_named_with_the_workload_s_journeys(tmp_path: Path) -> None:
    require_others("default", mix_of(DEFAULT), "bulk_lines")
    with pytest.raises(
        UsageError, match=r"journey=dance: the workload default has no such journey; valid: browse, bulk_lines"
    ):
        require_others("default", mix_of(DEFAULT), "dance")
    alone = tmp_path / "alone.yaml"
    alone.write_text(
        "name: alone\nmix:\n- {journey: browse, channel: web, weight: 1}\n- {journey: login, channel: web, weight: 0}\n"
    )
    with pytest.raises(UsageError, match="journey=login: the workload alone has no such journey; valid: browse"):
        require_others("alone", mix_of(alone), "login")
    with pytest.raises(UsageError, match="has no other journey that could gain from it"):
        require_others("alone", mix_of(alone), "browse")
