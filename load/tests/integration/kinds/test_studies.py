"""A short study on the real system: three arms of one load, in one block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from experiment.kinds.studies.arms import PROFILES, studies_plan
from experiment.kinds.studies.study import STUDIES, read_study
from experiment.runner import begin, run_plan
from hops.kinds.studies.document import replayed_in
from hops.run.files import read_run
from mesh.description.ports import Ports

from ...needs import needs_generator

pytestmark = needs_generator


ARMS = ("agrawal-rest-small", "agrawal-grpc-small", "agrawal-graphql-direct-small")


def test_arms_get_the_studys_load_and_its_claims_get_verdicts(tmp_path: Path, shop_ports: Ports) -> None:
    whole = studies_plan([read_study(STUDIES / "agrawal.yaml")], PROFILES["smoke"], 1, 1)
    plan = replace(whole, arms=tuple(arm for arm in whole.arms if arm.label in ARMS))
    summary, path = run_plan(plan, begin(plan, tmp_path), shop_ports)
    run = read_run(path)
    assert run.tape_of("agrawal-rest-small") == run.tape_of("agrawal-grpc-small")
    assert set(run.journeys["mode"]) == {"closed"}
    assert set(run.journeys["journey"]) == {"document"}
    assert {trial["generator"]["closed"]["vus"] for trial in run.used} == {100}
    assert {trial["generator"]["connections_dialed"] for trial in run.used} == {100}
    small = run.journeys.filter((pl.col("topology") == "agrawal-rest-small") & (pl.col("outcome") == "ok"))
    assert small["bytes_in_raw"].max() < 1000  # type: ignore[operator]
    verdicts = {verdict["claim"]["id"]: verdict for verdict in replayed_in(summary)[0]["verdicts"]}
    assert verdicts["A1"]["arms"] == ["agrawal-grpc-small", "agrawal-rest-small"]
    assert verdicts["A3"]["arms"] == ["agrawal-graphql-direct-small", "agrawal-rest-small"]
    assert "The edge's part of a journey" in verdicts["A3"]["beside"]
    assert verdicts["A1"]["reason"] == "There is no interval: it needs 3 blocks, and there is 1."
    assert (verdicts["A6"]["outcome"], verdicts["A6"]["reason"]) == (
        "not comparable",
        "The run has no arm agrawal-grpc-large.",
    )
