"""Monitoring of the whole shop by Prometheus: scraped targets, metrics in rules and dashboards, and exemplars."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import yaml
from stand_ins.prometheus import ask, needs_prometheus, until, value

from mesh.cli import show, with_monitor
from mesh.components.exporters import OF_POSTGRES, OF_VALKEY
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.errors import NotInstalledError, SwitchError
from mesh.native.system import System
from mesh.paths import ALERT_RULES, ROOT
from mesh.supervisor.running_state import State

TRACE = uuid.uuid4().hex
DASHBOARDS = sorted((ROOT / "observability" / "grafana").glob("*.json"))
RULES: dict[str, Any] = yaml.safe_load(ALERT_RULES.read_text())
NAME = re.compile(
    r"\b(?:ALERTS|up|(?:pg|redis|http|rpc|db|shop|process|envoy|kong|objective)[a-z0-9]*[_:][a-z0-9_:]+)\b"
)
STRING = re.compile(r'"[^"]*"')
BY = re.compile(r"\b(?:by|on|without) \([^)]*\)|\{[^}]*\}")
"""Matches the parts of a PromQL expression that name labels: after these words, and in braces."""
EJECTED = "envoy_cluster_outlier_detection_ejections_active"
ONLY_WITH = {
    "kong_http_requests_total": "edge=kong",
    "http_client_request_duration_seconds_bucket": "REST inside",
    EJECTED: "sidecars, the first time that one leaves an instance out",
}
"""Metrics that this topology lacks, and where they exist instead."""
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="there is no promtool on PATH: nobody has checked the alerts' rules"
)
MISSING = [each.missing for each in (OF_POSTGRES, OF_VALKEY) if each.find(os.environ) is None]
needs_exporters = pytest.mark.skipif(bool(MISSING), reason=f"nobody has asked the stores: {'; '.join(MISSING)}")


def expressions() -> dict[str, list[str]]:
    found = {ALERT_RULES.name: [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]}
    for file in DASHBOARDS:
        panels = json.loads(file.read_text())["panels"]
        found[file.name] = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    return found


def names(expression: str) -> set[str]:
    return set(NAME.findall(BY.sub("", STRING.sub("", expression))))


@pytest.fixture(scope="module")
def shop(shop_ports: Ports) -> Iterator[System]:
    """A shop with a Prometheus."""
    switches = parse_switches(metrics="on", updates="on", cache="valkey", replicas="product:2")
    with System(load_topology("hybrid", updates="on"), switches, shop_ports, "watched", monitor=True) as system:
        yield system


@pytest.fixture(scope="module")
def browsed(shop: System) -> None:
    """A traced browse over GraphQL and over REST, until Prometheus has scraped them and evaluated its rules."""
    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    query = {"query": '{ products(first: 2, category: "books") { edges { node { id } } } }'}

    def is_counted() -> bool:
        with httpx.Client(base_url=shop.url, headers=headers, trust_env=False) as client:
            assert client.post("/graphql", json=query).status_code == 200
            assert client.get("/v1/products?category=books").status_code == 200
        return value(shop, 'objective:burn_rate:5m{objective="browse"} >= bool 0') == 1

    until(is_counted)


@needs_prometheus
def test_every_component_is_scraped(shop: System) -> None:
    def all_are_up() -> dict[str, list[str]] | None:
        targets = ask(shop, "targets", state="active")["activeTargets"]
        if any(target["health"] != "up" for target in targets):
            return None
        jobs: dict[str, list[str]] = {}
        for target in targets:
            jobs.setdefault(target["labels"]["job"], []).append(target["labels"]["entered"])
        return jobs

    inside = {name: ["false"] for name in ("edge", "order", "user", "payment", "notification", "jaeger")}
    gateways = {name: ["true"] for name in ("graphql-gateway", "rest-gateway")}
    inside |= {each.component: ["false"] for each in (OF_POSTGRES, OF_VALKEY) if each.find(os.environ)}
    assert until(all_are_up) == {**inside, **gateways, "product": ["false", "false"]}


@needs_prometheus
@pytest.mark.usefixtures("browsed")
def test_every_name_in_rules_and_dashboards_is_a_metric_that_is_there(shop: System) -> None:
    known = set(ask(shop, "label/__name__/values")) | {"ALERTS"} | set(ONLY_WITH)
    # The series of rules over several hours exist a minute after the start.
    known |= {rule["record"] for group in RULES["groups"] for rule in group["rules"] if "record" in rule}
    read = {(file, name) for file, listed in expressions().items() for one in listed for name in names(one)}
    assert len(read) > 20
    unasked = tuple(each.prefix for each in (OF_POSTGRES, OF_VALKEY) if each.find(os.environ) is None)
    assert sorted((file, name) for file, name in read if name not in known and not name.startswith(unasked)) == []
    rules = [rule for group in ask(shop, "rules")["groups"] for rule in group["rules"]]
    assert len(rules) == sum(len(group["rules"]) for group in RULES["groups"])
    assert [rule for rule in rules if rule.get("lastError")] == []


@needs_prometheus
@needs_exporters
def test_both_stores_say_how_they_fare(shop: System) -> None:
    until(lambda: value(shop, "pg_up + on () redis_up") == 2)
    assert value(shop, "max(pg_database_size_bytes)") > 1_000_000
    assert value(shop, "redis_commands_processed_total") > 0
    assert value(shop, "pg_settings_max_connections") == 300
    # The role `monitor` sees other roles' sessions too.
    assert value(shop, "sum(pg_stat_activity_count)") > 8
    assert value(shop, "max(pg_stat_database_xact_commit)") > 0
    assert value(shop, "redis_memory_max_bytes") == 64 * 2**20


@needs_prometheus
@pytest.mark.usefixtures("browsed")
def test_a_time_leads_to_its_trace(shop: System) -> None:
    for name in ("http_server_request_duration_seconds_bucket", "rpc_server_call_duration_seconds_bucket"):
        now = time.time()
        found = ask(shop, "query_exemplars", query=name, start=str(now - 600), end=str(now + 60))
        assert {one["labels"]["trace_id"] for series in found for one in series["exemplars"]} == {TRACE}


@needs_prometheus
@pytest.mark.usefixtures("browsed")
def test_both_protocols_count_for_the_objective(shop: System) -> None:
    of_browse = 'http_server_request_duration_seconds_count{entered="true"}'
    routes = {"/graphql", "/v1/products"}
    found = ask(shop, "query", query=of_browse)["result"]
    assert routes <= {series["metric"]["http_route"] for series in found}
    assert value(shop, 'objective:requests:rate1m{objective="browse"}') > 0


@needs_prometheus
@pytest.mark.usefixtures("browsed")
def test_a_dead_component_fires_an_alert_and_its_failed_calls_count_as_faults(shop: System) -> None:
    for replica in ("product", "product-2"):
        shop.kill(replica)
    query = {"query": '{ products(first: 2, category: "books") { edges { node { id } } } }'}
    with httpx.Client(base_url=shop.url, trust_env=False, timeout=10) as client:
        assert "UNAVAILABLE" in client.post("/graphql", json=query).text
        assert client.get("/v1/products?category=books").status_code == 503
        assert client.get("/v1/products?page_size=none").status_code == 400
    answers = "http_server_request_duration_seconds_count"
    until(lambda: value(shop, answers + '{job="graphql-gateway", error_type="UNAVAILABLE"}') == 1)
    until(lambda: value(shop, answers + '{job="rest-gateway", error_type="503"}') == 1)
    refused = answers + '{job="rest-gateway", http_response_status_code="400", error_type=""}'
    assert value(shop, refused) == 1
    until(lambda: value(shop, 'count(ALERTS{alertname="ComponentDown", job="product"})') == 2)


@needs_promtool
def test_rules_are_valid_and_fire_when_they_should() -> None:
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
        done = subprocess.run(
            ["promtool", *command], cwd=ALERT_RULES.parent, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_runbook_and_a_test() -> None:
    alerts = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule}
    page, tests = (ROOT / "docs" / "operations.md").read_text(), ALERT_RULES.with_name("rules_test.yaml").read_text()
    for name, rule in alerts.items():
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{name.lower()}"
        assert f"\n### {name}\n" in page
        assert f"alertname: {name}\n" in tests
    assert set(re.findall(r"\n### (\w+)\n", page)) == set(alerts)


def test_without_prometheus_nothing_starts(free_ports: Callable[[], Ports]) -> None:
    def start(environ: dict[str, str]) -> None:
        System(load_topology("hybrid"), parse_switches(metrics="on"), free_ports(), "x", environ=environ, monitor=True)

    with pytest.raises(NotInstalledError, match="apt-get install prometheus"):
        start({"PATH": "/nowhere"})
    with pytest.raises(NotInstalledError, match="PROMETHEUS_BIN=/nowhere/prometheus is not a program"):
        start({"PROMETHEUS_BIN": "/nowhere/prometheus"})


def test_the_banner_lists_additions_of_switches(free_ports: Callable[[], Ports], capsys: pytest.CaptureFixture) -> None:
    topology, switches = load_topology("hybrid", updates="on"), parse_switches(metrics="on", updates="on")
    ports, environ = free_ports(), {"PROMETHEUS_BIN": sys.executable, "PATH": "/nowhere"}
    system = System(topology, switches, ports, "x", environ=environ, monitor=True, interactive=True)
    state = State("hybrid", {"delay_ms": {}, "abort_share": {}}, {}, {}, "", "", 0.0, additions=system.additions)
    show(state, as_json=False, how_to_stop="make down")
    said = capsys.readouterr().out
    assert re.search(r"updates=on +the notification service", said)
    assert "/graphql/stream" in said
    assert f"{ports.url('order-metrics')}/metrics (order)" in said
    assert re.search(rf"monitor=on +Prometheus at {ports.url('prometheus')}", said)
    assert "no pg_* metrics: install postgres_exporter (Debian and Ubuntu: apt-get install prometheus-" in said
    assert "redis_exporter" not in said
    assert System(load_topology("hybrid"), parse_switches(), ports, "x", interactive=True).additions == {}


def test_monitoring_means_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_BIN", sys.executable)
    assert with_monitor({"metrics": None}, "on") == {"metrics": "on"}
    assert with_monitor({"metrics": None}, "off") == {"metrics": None}
    with pytest.raises(SwitchError, match="monitor=on with metrics=off"):
        with_monitor({"metrics": "off"}, "on")
    with pytest.raises(SwitchError, match="monitor=yes is unknown; valid: off, on"):
        with_monitor({"metrics": None}, "yes")
    monkeypatch.setenv("PROMETHEUS_BIN", "/nowhere/prometheus")
    with pytest.raises(NotInstalledError, match="is not a program"):
        with_monitor({"metrics": None}, "on")
