"""A trial is suspect if a process reports that it could not export spans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiment.blocks import Makers
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.profiles import Profile
from experiment.runner import begin, run_plan
from experiment.trial.outcome import Trial
from experiment.trial.run import run_trial
from hops.run.files import read_run
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System

from ..needs import needs_generator

WORKLOAD = Path(__file__).resolve().parents[2] / "workloads" / "default.yaml"
TINY = Profile("tiny", warmup_s=1, duration_s=3, rate=20.0, parity_samples=1)

pytestmark = needs_generator


def test_spans_that_never_reached_jaeger_make_the_trial_suspect(tmp_path: Path, shop_ports: Ports) -> None:
    systems: list[System] = []

    def with_a_silent_service(system: System, *args: Any, **kwargs: Any) -> Trial:
        nobody = {"user": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}}
        systems.append(System(system.topology, system.switches, system.ports, system.trial, extra=nobody))
        return run_trial(systems[0], *args, **kwargs)

    rest = Arm("rest", load_topology("rest"), parse_switches(trace=1))
    plan = Plan("bench", "rest", (rest,), 1, TINY, 7, WORKLOAD)
    _, path = run_plan(plan, begin(plan, tmp_path), shop_ports, makers=Makers(run=with_a_silent_service))

    accounts = systems[0].span_accounts()
    assert {"product", "order", "user", "payment"} == set(accounts)
    assert accounts["user"].lost == accounts["user"].recorded > 0
    assert [account.lost for name, account in accounts.items() if name != "user"] == [0, 0, 0]
    [trial] = read_run(path).trials
    [gate] = [gate for gate in trial["gates"] if gate["name"] == "spans_lost"]
    assert not gate["ok"]
    assert gate["value"] >= accounts["user"].lost
