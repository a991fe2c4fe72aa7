from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiment.errors import UsageError
from experiment.generator.shopload import Load, Tape, _replay
from experiment.kinds.studies.arms import PROFILES, studies_plan
from experiment.kinds.studies.study import STUDIES, all_studies, read_study, studies_named, with_claims
from experiment.plan.arms_in_blocks import Arm, Plan, plan_of
from experiment.plan.closed_loop import ClosedLoop
from mesh.description.topology import load_topology
from mesh.errors import MeshError

CLAIMS = {"agrawal": 9, "chandra": 10, "muppaneni": 11, "niswar": 10, "rozek": 17}


def plan(name: str, profile: str = "full") -> Plan:
    return studies_plan([read_study(STUDIES / f"{name}.yaml")], PROFILES[profile], 3, 1)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_has_arms_that_share_a_tape_or_a_reason(name: str) -> None:
    planned = plan(name)
    (study,) = planned.about["studies"]
    assert plan_of(planned.as_document()) == planned
    assert len(study["claims"]) == CLAIMS[name]
    arms = {arm.label: arm for arm in planned.arms}
    for claim in study["claims"]:
        assert bool(claim["loads"]) != bool(claim["reason"])
        assert claim["why_topologies"]
        for load, topologies in {**dict.fromkeys(claim["loads"], claim["topologies"]), **claim["also"]}.items():
            labels = [f"{name}-{topology}-{load}" for topology in topologies]
            assert len({arms[label].tape for label in labels}) == 1


@pytest.mark.parametrize("name", CLAIMS)
def test_both_sides_of_a_claim_have_the_same_number_of_hops(name: str) -> None:
    """A gateway on only one side would add a hop and a process to that side; only M8 is about exactly this."""
    (study,) = plan(name).about["studies"]
    for claim in study["claims"]:
        for topologies in [claim["topologies"], *claim["also"].values()]:
            entered = {bool(load_topology(topology).gateways) for topology in topologies}
            assert len(entered) == 1 or claim["id"] == "M8", claim["id"]


def test_a_load_keeps_the_studys_pace_and_reports_its_scale() -> None:
    rozek, chandra = plan("rozek"), plan("chandra")

    def of(planned: Plan, label: str) -> Arm:
        return next(arm for arm in planned.arms if arm.label == label)

    many, ramp = of(rozek, "rozek-grpc-s1-1000").load, of(chandra, "chandra-rest-load").load
    assert many is not None
    assert ramp is not None
    assert (many.process, many.sending.rate, many.sending.duration_s) == ("constant", pytest.approx(1000 / 30), 30)
    assert rozek.about["studies"][0]["loads"]["s1-1000"]["users_replayed"] == 1000
    assert rozek.about["studies"][0]["scale"].startswith("Nothing is scaled. ")
    assert "One factor: users and time divided by 30. " in chandra.about["studies"][0]["scale"]
    assert (ramp.sending.closed, ramp.sending.duration_s, ramp.sending.overload) == (ClosedLoop(8, 0.0), 12, True)
    assert ramp.sending.steps[:3] == (0.25, 0.5, 0.75)
    sent = Load(Tape(Path("tape"), "", 1, 1), 12, ramp.sending.closed, steps=ramp.sending.steps)
    assert "0.25,0.5,0.75,1,1,1,1,1,1,0.75,0.5,0.25" in _replay(sent, Path("target"), Path("out"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "speed"}, r"claims\[0\]\.metric: 'speed' is unknown; valid: latency_p50, .*, saturation_users"),
        ({"relation": "about"}, r"claims\[0\]\.relation: 'about' is unknown; valid: lt, gt, eq, ratio"),
        ({"left": "soap"}, r"claims\[0\]: claim N1: 'soap' is not a side; valid: rest, graphql, grpc, thrift"),
        ({"between": ["graphql"]}, r"claims\[0\]: claim N1: between is only valid with saturation_users"),
        (
            {"metric": "saturation_users", "relation": "lt"},
            r"claims\[0\]: claim N1: saturation_users compares an order: give relation lt and a tolerance",
        ),
        ({"value": None}, r"claims\[0\]: claim N1: a ratio needs its value"),
        ({"value": [0.9, 1.1]}, r"claims\[0\]: claim N1: value \[0.9, 1.1\] is neither above nor below 1"),
        ({"relation": "eq", "value": None}, r"claims\[0\]: claim N1: eq needs a tolerance"),
        (
            {"metric": "success_rate", "tolerance": 0.1},
            r"claims\[0\]: claim N1: a tolerance is a share, and success rates are compared in points",
        ),
        ({"value": 0.93, "tolerance": 0.1}, r"claims\[0\]: claim N1: value 0.93 is within its tolerance"),
        ({"left": "thrift"}, r"claims\[0\]: claim N1: its load flat-100 does not run thrift"),
        ({"id": "N2"}, r"claims\[1\]: claim N2: appears twice"),
        (
            {"id": "N99"},
            r"claims\[0\]: claim N99: it needs either a load that answers it, or a reason in not_comparable",
        ),
        ({"colour": "red"}, r"claims\[0\]\.colour: is not a key here; valid: id, metric, left, between, right"),
    ],
)
def test_a_wrong_claim_is_refused_by_name(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    document = yaml.safe_load((STUDIES / "niswar.yaml").read_text(encoding="utf-8"))
    document["claims"][0] |= change
    file = tmp_path / "niswar.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(UsageError, match=rf"niswar\.yaml:\d+: {message}"):
        read_study(file)


@pytest.mark.parametrize("scale", [{"by": 1, "divides": ["time"]}, {"by": 30, "divides": []}])
def test_a_scale_that_contradicts_itself_is_refused(scale: dict[str, Any], tmp_path: Path) -> None:
    document = yaml.safe_load((STUDIES / "chandra.yaml").read_text(encoding="utf-8"))
    document["replay"]["scale"] |= scale
    file = tmp_path / "chandra.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(UsageError, match=r"chandra\.yaml:\d+: replay\.scale: give by: 1 and divides: \[\] for"):
        read_study(file)


@pytest.mark.parametrize("where", ["latency_ms.{side}.p50.p50 ms", "latency_ms.soap ms", "{side", "{side.p50}", "{}"])
def test_a_path_that_the_tables_lack_is_refused(where: str, tmp_path: Path) -> None:
    document = yaml.safe_load((STUDIES / "niswar.yaml").read_text(encoding="utf-8"))
    document["replay"]["published"] = {"N1": where}
    file = tmp_path / "niswar.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(
        UsageError, match=rf"niswar\.yaml:\d+: claims\[0\]: claim N1: published: {re.escape(where)} is not"
    ):
        read_study(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topologies": ["rest", "graphql-direct", "grpc", "soap"]}, "topology=soap is unknown"),
        ({"switches": {"speed": "high"}}, "arm niswar-rest-flat-100: there is no switch speed; valid: edge, plugins"),
        ({"switches": {"connections": 0}}, "arm niswar-rest-flat-100: connections=0"),
    ],
)
def test_an_arm_that_cannot_run_is_refused_by_name(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    document = yaml.safe_load((STUDIES / "niswar.yaml").read_text(encoding="utf-8"))
    document["replay"]["loads"]["flat-100"] |= change
    file = tmp_path / "niswar.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises((UsageError, MeshError), match=message):
        studies_plan([read_study(file)], PROFILES["full"], 1, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("fielding", "study=fielding: fielding is unknown; valid: all, agrawal, chandra, muppaneni, niswar, rozek"),
        ("niswar,", "an empty item is unknown"),
        ("niswar,niswar", "niswar is given twice"),
    ],
)
def test_unknown_studies_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        studies_named(given)
    assert [study.id for study in studies_named("all")] == all_studies() == list(CLAIMS)


def test_studies_are_replayed_together() -> None:
    whole = studies_plan(studies_named("all"), PROFILES["full"], 4, 1)
    assert plan_of(whole.as_document()) == whole
    assert [study["id"] for study in whole.about["studies"]] == list(CLAIMS)
    assert len({arm.label for arm in whole.arms}) == len(whole.arms) == 68
    assert (whole.name, plan("niswar").name) == ("studies", "studies-niswar")


def test_only_the_arms_that_the_given_claims_compare_are_replayed() -> None:
    some = studies_plan(with_claims(studies_named("all"), "R17,A3, R2"), PROFILES["full"], 4, 1)
    assert [arm.label for arm in some.arms] == [
        "agrawal-rest-small", "agrawal-graphql-direct-small", "rozek-graphql-direct-s1-100", "rozek-grpc-s1-100",
        "rozek-graphql-direct-s4-1000", "rozek-thrift-json-s4-1000",
    ]  # fmt: skip
    assert [[claim["id"] for claim in study["claims"]] for study in some.about["studies"]] == [["A3"], ["R2", "R17"]]
    whole = {arm.label: arm for name in ("agrawal", "rozek") for arm in plan(name).arms}
    assert all(arm == whole[arm.label] for arm in some.arms)
    order = studies_plan(with_claims(studies_named("muppaneni"), "M11"), PROFILES["full"], 4, 1)
    assert len(order.arms) == 12


def test_other_clients_and_loads_of_the_given_claims_are_replayed_too() -> None:
    one = studies_plan(with_claims(studies_named("all"), "C4,M8"), PROFILES["full"], 4, 1)
    assert [arm.label for arm in one.arms] == [
        "chandra-rest-load", "chandra-grpc-load", "chandra-rest-load-one-row", "chandra-grpc-load-one-row",
        "muppaneni-rest-nested", "muppaneni-graphql-nested", "muppaneni-rest-naive-nested",
    ]  # fmt: skip
    chandra, muppaneni = (study["claims"][0] for study in one.about["studies"])
    assert (chandra["loads"], list(chandra["also"])) == (["load"], ["load-one-row"])
    assert muppaneni["topologies"] == ["graphql", "rest-naive"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("R99", r"claims=R99: R99 is unknown; did you mean R9\? valid: all, R1, R2"),
        ("A1", r"claims=A1: A1 is unknown; .*valid: all, R1, R2"),
        ("R8", r"claims=R8: R8 is not comparable, because the study's sizes of gRPC come from .*; leave it out"),
        ("R2,", "an empty item is unknown"),
        ("R2,R2", "R2 is given twice"),
    ],
)
def test_claims_without_arms_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        with_claims(studies_named("rozek"), given)
