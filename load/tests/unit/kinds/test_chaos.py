from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.faults.faults import FAULTS, TargetedFault, parse_faults, possible, unavailable
from experiment.faults.repetition import make_repetition, write_acknowledged
from experiment.generator.shopload import Tape
from experiment.kinds.chaos import USUAL, arms_of_faults
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.paths import ROOT
from proofs.under_faults.attacks import outcome_of

HYBRID, REST = (load_topology(name, updates="on") for name in ("hybrid", "rest"))
PLAIN, IN_CLUSTER = parse_switches(), parse_switches(runtime="kubernetes")
MS = 1_000_000


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"data": {}, "errors": []}, "ok"),
        ({"data": {}, "errors": None}, "ok"),
        ({"errors": [{"extensions": {"code": "NOT_FOUND"}}]}, "NOT_FOUND"),
        ({"errors": [{"message": "x"}]}, "error"),
        ({"errors": {"message": "x"}}, "error"),
        ({"errors": "x"}, "error"),
    ],
)
def test_an_attack_recognises_a_graphql_error(body: object, outcome: str) -> None:
    assert outcome_of(200, body) == outcome


def test_every_part_of_a_topology_can_be_killed_and_every_link_cut() -> None:
    faults = set(map(str, possible(HYBRID, PLAIN)))
    parts = {*HYBRID.components, "edge", "postgres", "jaeger"}
    assert {one for one in faults if one.startswith("kill:")} == {f"kill:{part}" for part in parts}
    links = {"cut:order-payment", "reset:order-database", "slow:graphql-gateway-product"}
    assert {*links, "rolling:shop", "restart:edge"} <= faults


def test_sidecars_and_their_control_plane_are_targets_and_replace_cut_links() -> None:
    faults = set(map(str, possible(HYBRID, parse_switches(mesh="istio"))))
    assert {"kill:order-sidecar", "freeze:edge-sidecar", "kill:istiod"} <= faults
    assert not any(one.startswith(("cut:", "reset:", "slow:")) for one in faults)


def test_a_kind_means_all_its_targets_and_each_topology_has_its_own() -> None:
    both = parse_faults("pool,kill:graphql-gateway", [HYBRID, REST], PLAIN)
    assert [str(one) for one in both["hybrid"]] == [
        "kill:graphql-gateway",
        *(f"pool:{service}" for service in HYBRID.services),
    ]
    assert {one.kind for one in both["rest"]} == {"pool"}
    everything = [one for one in possible(HYBRID, PLAIN) if one.kind not in unavailable(in_cluster=False)]
    assert parse_faults("all", [HYBRID], PLAIN)["hybrid"] == everything
    assert set(USUAL.split(",")) <= set(FAULTS)
    assert [str(one) for one in parse_faults("rolling:edge", [REST], PLAIN)["rest"]] == ["rolling:edge"]


def test_the_targets_that_the_page_names_are_targets() -> None:
    page, _, _ = (ROOT / "docs" / "experiments" / "faults.md").read_text().partition("\n### How to read the table\n")
    names = re.compile("`([a-z-]+)`")
    rows = re.findall(r"^\| (`[a-z`, -]+) \| (.+?) \| .+ \|$", page, flags=re.MULTILINE)
    named = {f"{kind}:{target}" for kinds, at in rows for kind in names.findall(kinds) for target in names.findall(at)}
    meshed = ({"mesh": "envoy", "mtls": "on", "cache": "valkey"}, {"mesh": "istio"})
    runs = [parse_switches(**switches) for switches in meshed]
    every = {str(one) for switches in (PLAIN, IN_CLUSTER, *runs) for one in possible(HYBRID, switches)}
    assert {"restart:postgres", "kill:order-sidecar", "drain:shop"} <= named <= every


def test_an_impossible_fault_is_refused_by_name_and_left_out_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "disk-full", replace(FAULTS["disk-full"], lacks=lambda: "root"))
    with pytest.raises(UsageError, match="faults=disk-full:postgres-wal needs root; otherwise leave out this fault"):
        parse_faults("kill,disk-full:postgres-wal", [HYBRID], PLAIN)
    kinds = {one.kind for one in parse_faults("all", [HYBRID], PLAIN)["hybrid"]}
    assert kinds & {"kill", "disk-full"} == {"kill"}
    assert unavailable(in_cluster=False)["disk-full"] == "root"
    monkeypatch.setitem(FAULTS, "disk-full", replace(FAULTS["disk-full"], lacks=lambda: ""))
    full = parse_faults("all", [HYBRID], PLAIN)["hybrid"]
    assert [str(one) for one in full if one.kind == "disk-full"] == [
        "disk-full:postgres-data",
        "disk-full:postgres-wal",
    ]


def test_a_link_cannot_fail_without_toxiproxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiment.faults.links.BINARY", tmp_path / "toxiproxy-server")
    with pytest.raises(UsageError, match="faults=cut needs Toxiproxy: run `make toxiproxy`; otherwise leave out"):
        parse_faults("kill,cut", [HYBRID], PLAIN)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nope", "faults=nope: 'nope' is unknown; valid: all, kill, freeze"),
        (
            "evict:order",
            "faults=evict:order: evict can only strike pods, which need runtime=kubernetes; valid: all, kill",
        ),
        ("", "faults=: '' is unknown"),
        ("kill:moon", "kill has no target 'moon' here; its targets: edge, graphql-gateway, jaeger"),
        ("kill:", "kill has no target ''"),
        ("cut:payment-order", "cut has no target 'payment-order' here; its targets: graphql-gateway-"),
    ],
)
def test_other_faults_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_faults(given, [HYBRID], PLAIN)


def test_a_cluster_has_its_own_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("evict", "drain"):
        monkeypatch.setitem(FAULTS, kind, replace(FAULTS[kind], lacks=lambda: ""))
    whole = [f"evict:{part}" for part in (*HYBRID.components, "edge")]
    assert [*map(str, parse_faults("all", [HYBRID], IN_CLUSTER)["hybrid"])] == [*whole, "drain:shop"]
    with pytest.raises(UsageError, match="faults=kill:order: kill can only strike processes on this machine; valid"):
        parse_faults("kill:order", [HYBRID], IN_CLUSTER)
    monkeypatch.setitem(FAULTS, "drain", replace(FAULTS["drain"], lacks=lambda: "the right to patch nodes"))
    with pytest.raises(UsageError, match="faults=drain needs the right to patch nodes; otherwise leave out this fault"):
        parse_faults("drain", [HYBRID], IN_CLUSTER)
    assert not {one.kind for one in parse_faults("all", [HYBRID], IN_CLUSTER)["hybrid"]} & {"drain"}


def test_a_load_lasts_until_the_end_of_a_fault_can_be_seen() -> None:
    def lasts_s(fault: str, **switches: str) -> float:
        target = FAULTS[fault].targets(HYBRID, PLAIN)[0]
        return FAULTS[fault].longer_s(HYBRID, parse_switches(**switches), target)

    assert lasts_s("kill") == 0
    assert lasts_s("rolling") == 8 * (len(HYBRID.components) + 2)
    assert lasts_s("rolling", replicas="order:2") == 8 * (len(HYBRID.components) + 3)
    # Without a mesh, name servers may send callers to a pod for 40 s after it was asked to leave.
    assert lasts_s("drain") > lasts_s("evict") > 40 > lasts_s("evict", mesh="envoy") > 0


def test_a_topology_without_updates_is_struck_without_them() -> None:
    [arm] = arms_of_faults("federation", "kill:graphql-gateway", {})
    assert (arm.switches.updates, arm.topology.has_updates) == ("off", False)
    [arm] = arms_of_faults("hybrid", "kill:graphql-gateway", {})
    assert (arm.switches.updates, arm.topology.has_updates) == ("on", True)


def test_each_topology_and_fault_is_an_arm() -> None:
    arms = arms_of_faults("grpc,hybrid", "kill:order", {"edge": "kong"})
    assert [(arm.label, arm.fault, arm.switches.edge) for arm in arms] == [
        ("grpc-kill-order", "kill:order", "kong"),
        ("hybrid-kill-order", "kill:order", "kong"),
    ]
    assert TargetedFault.parse(arms[0].fault) == TargetedFault("kill", "order")


def test_failed_purchases_repeat_with_the_same_key_and_only_acknowledged_ones_count(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    entries = [
        {"seq": seq, "at_ns": seq * MS, "journey": "checkout", "params": {"user_id": seq, "idempotency_key": f"k{seq}"}}
        for seq in range(4)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [{"journeys": 4, "rate": 9.0}, *entries]))
    again = make_repetition(Tape(path, "", 4, 1), {1, 3}, tmp_path / "again.jsonl")
    header, *lines = (tmp_path / "again.jsonl").read_text().splitlines(keepends=True)
    assert [json.loads(line)["params"]["idempotency_key"] for line in lines] == ["k1", "k3"]
    assert [json.loads(line)["seq"] for line in lines] == [0, 1]
    assert json.loads(header)["body_sha256"] == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert (again.tape.journeys, json.loads(header)["journeys"]) == (2, 2)
    rows = tmp_path / "rows.jsonl"
    sent = [(0, "ok", "checkout"), (1, "server", "checkout"), (2, "ok", "browse")]
    rows.write_text(
        "".join(
            json.dumps({"seq": seq, "outcome": outcome, "journey": journey, "order_id": 70 + seq}) + "\n"
            for seq, outcome, journey in sent
        )
    )
    assert write_acknowledged([(rows, path)], tmp_path / "acknowledged.jsonl") == 1
    (line,) = (tmp_path / "acknowledged.jsonl").read_text().splitlines()
    kept = {"journey": "checkout", "outcome": "ok", "order_id": 70, "user_id": 0, "idempotency_key": "k0"}
    assert json.loads(line) == kept
