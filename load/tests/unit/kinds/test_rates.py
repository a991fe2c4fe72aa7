from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from experiment.kinds.rates import DEFAULT_RATES, rate_arms
from experiment.plan.arms_in_blocks import Plan, plan_of
from experiment.plan.profiles import PROFILES
from hops.kinds.rates.document import KIND
from hops.run.documents import SCHEMA
from mesh.description.topology import Topology, load_topology

REST, HYBRID = load_topology("rest"), load_topology("hybrid")
WORKLOAD = Path(__file__).resolve().parents[3] / "workloads" / "default.yaml"


def write_sweep(results: Path, name: str, rates: dict[str, float | None], **manifest: Any) -> None:
    """Writes what `make rates` reads of a sweep."""
    rows = {topology: {"rate": rate} for topology, rate in rates.items()}
    documents: dict[str, dict[str, Any]] = {
        "summary": {"capacity": {"results": rows}},
        "manifest": {"workload": WORKLOAD.name, **manifest},
    }
    (results / name).mkdir()
    for file, document in documents.items():
        (results / name / f"{file}.json").write_text(json.dumps({"schema": SCHEMA, **document}), encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two sweeps; the newer sweep has no rate for hybrid."""
    write_sweep(tmp_path, "20260101T000000Z-sweep", {"rest": 160.0, "hybrid": 110.0})
    write_sweep(tmp_path, "20260102T000000Z-sweep", {"rest": 150.0, "hybrid": None})
    return tmp_path


def test_each_topology_runs_at_each_rate_the_lowest_first(tmp_path: Path) -> None:
    arms = rate_arms([REST, HYBRID], "40, 10", {"trace": "0.5"}, WORKLOAD, tmp_path)
    assert [(arm.label, arm.rate, arm.tape) for arm in arms] == [
        ("rest-10", 10, "load-10"),
        ("hybrid-10", 10, "load-10"),
        ("rest-40", 40, "load-40"),
        ("hybrid-40", 40, "load-40"),
    ]
    assert {arm.switches.trace for arm in arms} == {0.5}


def test_percent_refer_to_the_newest_sweep_with_all_topologies(results: Path) -> None:
    arms = rate_arms([REST, HYBRID], "20,20%,80%", {}, WORKLOAD, results)
    assert [(arm.label, arm.rate) for arm in arms] == [
        ("rest-20", 20), ("hybrid-20", 20), ("rest-20pct", 32), ("hybrid-20pct", 22), ("rest-80pct", 128),
        ("hybrid-80pct", 88),
    ]  # fmt: skip


def test_a_sweep_of_other_journeys_or_endpoints_does_not_count(tmp_path: Path) -> None:
    file, results = tmp_path / "recorded.yaml", tmp_path / "results"
    file.write_text("{}", encoding="utf-8")
    results.mkdir()
    here, elsewhere = {"web1": "http://127.0.0.1:9001"}, {"web1": "http://127.0.0.1:9002"}
    for day, (rate, workload, endpoints) in enumerate(
        [(50.0, file.name, here), (60.0, file.name, elsewhere), (70.0, "other.yaml", here)], start=1
    ):
        targets = {"mine": {"endpoints": endpoints, "ports": []}}
        write_sweep(results, f"2026010{day}T000000Z-sweep-recorded", {"mine": rate}, workload=workload, targets=targets)
    write_sweep(results, "20260104T000000Z-sweep", {"mine": 80.0}, workload=file.name)
    mine = Topology(name="mine", about="", entry={}, links={})
    for endpoints, rate in ((here, 25), (elsewhere, 30)):
        arms = rate_arms([mine], "10%,50%", {}, file, results, {"mine": endpoints})
        assert [arm.rate for arm in arms] == [rate / 5, rate]


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ("0,20", "rates=0,20: 0 is not a rate; give journeys per second, from 0.1 to 1000"),
        ("20,120%", "120% is not a rate"),
        ("fast,20", "fast is not a rate"),
        ("20,", "an empty item is not a rate"),
        ("20,20.0", "20 is given twice"),
        ("20", "is a single rate; give at least two, such as 10,20,30,40,60"),
        (",".join(map(str, range(1, 17))), "2 topologies at 16 rates make 32 arms, and an experiment has at most 30"),
        ("20,500", "500 journeys a second is more than any of these topologies sustained in 20260101T000000Z-sweep"),
    ],
)
def test_invalid_rates_are_refused(rates: str, message: str, results: Path) -> None:
    with pytest.raises(UsageError, match=message):
        rate_arms([REST, HYBRID], rates, {}, WORKLOAD, results)


def test_percent_need_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no `make sweep` with default.yaml measured it for rest, hybrid; run one"):
        rate_arms([REST, HYBRID], "20%,40%", {}, WORKLOAD, tmp_path)


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    arms = rate_arms([REST, HYBRID], DEFAULT_RATES, {}, WORKLOAD, tmp_path)
    plan = Plan(KIND, KIND, arms, 4, PROFILES["rtt"], 1, WORKLOAD)
    assert plan_of(plan.as_document()) == plan
