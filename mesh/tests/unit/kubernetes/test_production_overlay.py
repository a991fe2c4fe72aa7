"""The production overlay: its edge, migrations, metrics, traces and the way in."""

from __future__ import annotations

import json
import re
from typing import Any

import kubernetes_validate
import pytest
from stand_ins.manifests import OPTIONS, containers_of, everything, in_production, make, name_of, one, pod_of, read

from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.errors import SwitchError
from mesh.kubernetes.cluster.preflight import MIN_VERSION
from mesh.kubernetes.manifests.bundle import BENCH, KUSTOMIZATION, PRODUCTION, documents, manifests
from mesh.kubernetes.options import ClusterOptions

TRUST = ("xff_num_trusted_hops", "KONG_TRUSTED_IPS")


def test_in_production_programs_have_no_additions_of_experiments() -> None:
    canary = Switches(edge="envoy", runtime="kubernetes", mesh="istio", canary=10, delay_ms={"order": 2.0})
    files = manifests(load_topology("hybrid-go"), canary, OPTIONS)
    patches = [json.loads(patch["patch"]) for patch in files[f"{PRODUCTION}/{KUSTOMIZATION}"][0]["patches"][1:]]
    changed = {patch["metadata"]["name"]: patch["spec"]["template"]["spec"]["containers"] for patch in patches}
    assert set(changed) == {"order", "user", "payment", "rest-gateway"}  # the other components are in Go
    (main,) = changed["order"]
    assert (main["name"], main["command"]) == ("order", ["python", "-m", "shop.order"])
    measured = {"SHOP_TOPOLOGY", "SHOP_TRIAL", "SHOP_TRACING", "SHOP_STORE"}
    assert {variable["name"] for variable in main["env"] if variable["$patch"] == "delete"} == measured
    (container,) = one(documents(files, PRODUCTION), "Deployment", "order")["spec"]["template"]["spec"]["containers"]
    assert measured < {variable["name"] for variable in container["env"]}


@pytest.mark.parametrize("switches", ["plain", "istio-mtls", "kong", "kong-metrics"])
def test_in_production_the_edge_logs_to_its_standard_output_and_traces_a_share(switches: str) -> None:
    bench, production = everything("hybrid", switches), in_production("hybrid", switches, sampling=5.0)
    pods = [pod_of(one(resources, "Deployment", "edge")) or {} for resources in (bench, production)]
    assert [{volume["name"] for volume in pod["volumes"]} & {"logs"} for pod in pods] == [{"logs"}, set()]
    texts = [
        json.dumps([one(resources, kind, "edge") for kind in ("ConfigMap", "Deployment")])
        for resources in (bench, production)
    ]
    assert ["/var/log/hopwise" in text for text in texts] == [True, False]
    assert "/dev/stdout" in texts[1]
    assert "/dev/edge" not in texts[1]
    sampled = ('"KONG_TRACING_SAMPLING_RATE", "value": "1"', '"KONG_TRACING_SAMPLING_RATE", "value": "0.05"')
    if "kong" in switches:
        assert [share in text for share, text in zip(sampled, texts, strict=True)] == [True, True]
    else:
        shares = [
            read(one(resources, "ConfigMap", "edge")["data"]["envoy.yaml"])["static_resources"]["listeners"][0][
                "filter_chains"
            ][0]["filters"][0]["typed_config"]["tracing"].get("random_sampling")
            for resources in (bench, production)
        ]
        assert shares == [None, {"value": 5.0}]


def test_replicas_are_those_of_the_options_and_production_leaves_them_to_autoscalers() -> None:
    files = make("hybrid", "plain")
    assert one(everything("hybrid", "plain"), "Deployment", "product")["spec"]["replicas"] == 2
    (production,) = files[f"{PRODUCTION}/{KUSTOMIZATION}"]
    assert "op: remove\n  path: /spec/replicas" in production["patches"][0]["patch"]
    scaled = {each["metadata"]["name"] for each in files[f"{PRODUCTION}/autoscalers.yaml"]}
    assert scaled == {"product", "order", "user", "payment", "graphql-gateway", "rest-gateway", "edge"}


def test_an_update_spreads_its_new_pods() -> None:
    for scaler in make("hybrid", "istio")[f"{PRODUCTION}/autoscalers.yaml"]:
        name = scaler["spec"]["scaleTargetRef"]["name"]
        pod = one(everything("hybrid", "istio"), "Deployment", name)["spec"]["template"]["spec"]
        assert [each["matchLabelKeys"] for each in pod["topologySpreadConstraints"]] == [["pod-template-hash"]] * 2


def test_each_version_has_a_separate_migration_which_is_removed_after_a_day() -> None:
    def job(**options: Any) -> dict[str, Any]:
        (found,) = [each for each in in_production("hybrid", "plain", **options) if each["kind"] == "Job"]
        return found

    assert job() == job()
    assert len({name_of(job()), name_of(job(tag="0.1.0-next")), name_of(job(images="registry.example/shop"))}) == 3
    assert re.fullmatch("database-[0-9a-f]{10}", name_of(job()))
    assert job()["spec"]["ttlSecondsAfterFinished"] == 86_400
    # A run waits for the bench's job by its name.
    assert one(everything("hybrid", "plain"), "Job", "database")


@pytest.mark.parametrize(("run", "cuts"), [("", True), ("1a2b3c4d", False)])
def test_only_the_job_of_applied_manifests_cuts_connections_to_an_old_database(run: str, *, cuts: bool) -> None:
    (job,) = make("hybrid", "plain", run=run)[f"{BENCH}/database.yaml"]
    (main,) = (pod_of(job) or {})["containers"]
    assert ("--cut" in main["command"]) is cuts


def test_services_wait_for_their_own_schema_and_gateways_for_nothing() -> None:
    waiting = {
        name_of(each): [first["command"] for first in (pod_of(each) or {}).get("initContainers", [])]
        for each in in_production("hybrid", "plain")
        if each["kind"] == "Deployment"
    }
    for name in ("product", "order", "user", "payment"):
        assert waiting.pop(name) == [["python", "-m", "shop.database", "await", f"--service={name}"]]
    assert not any(waiting.values())


@pytest.mark.parametrize("switches", ["metrics", "kong-metrics"])
def test_prometheus_finds_every_pod_and_may_ask_it(switches: str) -> None:
    resources = in_production("hybrid", switches)
    monitor = one(resources, "PodMonitor", "shop")["spec"]
    named = {endpoint["port"]: endpoint["path"] for endpoint in monitor["podMetricsEndpoints"]}
    (admitted,) = one(resources, "NetworkPolicy", "metrics")["spec"]["ingress"]
    reached = {port["port"] for port in admitted["ports"]}
    shown = {}
    for each in (each for each in resources if each["kind"] == "Deployment" and name_of(each) != "jaeger"):
        template = each["spec"]["template"]
        assert monitor["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        (port,) = [port for _, main in containers_of(each) for port in main.get("ports", []) if port["name"] in named]
        shown[name_of(each)] = (named[port["name"]], port["containerPort"])
        assert port["containerPort"] in reached
        if switches == "metrics":  # Prometheus has no certificate
            open_to_all = template["metadata"]["annotations"]["traffic.sidecar.istio.io/excludeInboundPorts"]
            assert str(port["containerPort"]) in open_to_all.split(",")
    assert shown["edge"] == ("/metrics" if "kong" in switches else "/stats/prometheus", 18002)
    assert shown["order"] == ("/metrics", 18036)
    labelled = monitor["podMetricsEndpoints"][0]["relabelings"]
    labels = [(rule["targetLabel"], rule["replacement"]) for rule in labelled]
    assert labels == [("part_of", "hopwise"), ("entered", "false"), ("entered", "true")]
    assert labelled[2]["regex"] == "graphql-gateway|rest-gateway"
    assert not [each for each in documents(make("hybrid", switches)) if each["kind"] == "PodMonitor"]


def test_a_collector_replaces_jaeger() -> None:
    host = "otel-collector.observability.svc.cluster.local"
    resources = in_production("hybrid", "istio-mtls", collector=host)
    policies = [each for each in resources if each["kind"] == "NetworkPolicy"]
    assert not [each for each in resources if name_of(each) == "jaeger"]
    assert "jaeger" not in json.dumps([each["spec"] for each in policies])
    order = one(resources, "Deployment", "order")
    main = next(each for kind, each in containers_of(order) if kind == "containers")
    env = {variable["name"]: variable.get("value") for variable in main["env"]}
    assert env["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"http://{host}:4317"
    assert {"port": 4317, "protocol": "TCP"} in one(resources, "NetworkPolicy", "traces")["spec"]["egress"][0]["ports"]
    excluded = order["spec"]["template"]["metadata"]["annotations"]["traffic.sidecar.istio.io/excludeOutboundPorts"]
    assert {"4317", "4318"} <= set(excluded.split(","))
    assert f"outbound|4317||{host}" in json.dumps(one(resources, "EnvoyFilter", "order"))
    assert one(resources, "Sidecar", "default")["spec"]["egress"] == [{"hosts": ["./*", f"*/{host}"]}]
    assert host in one(resources, "ConfigMap", "edge")["data"]["envoy.yaml"]


def test_a_host_is_reached_by_tls_alone() -> None:
    by_gateway = in_production("hybrid", "istio-mtls", host="shop.example.com")
    (listener,) = one(by_gateway, "Gateway", "shop")["spec"]["listeners"]
    assert (listener["port"], listener["protocol"], listener["hostname"]) == (443, "HTTPS", "shop.example.com")
    assert listener["tls"]["certificateRefs"] == [{"name": "shop-tls"}]
    assert one(by_gateway, "HTTPRoute", "edge")["spec"]["hostnames"] == ["shop.example.com"]
    ingress = one(in_production("hybrid", "plain", host="shop.example.com"), "Ingress", "edge")
    for version in (".".join(map(str, MIN_VERSION)), kubernetes_validate.latest_version()):
        kubernetes_validate.validate(ingress, ".".join(version.split(".")[:2]), strict=True)
    assert ingress["spec"]["tls"] == [{"hosts": ["shop.example.com"], "secretName": "shop-tls"}]
    with pytest.raises(SwitchError, match=r"which an Ingress does not support\. Give mesh=istio"):
        in_production("grpc", "plain", host="shop.example.com")
    with pytest.raises(SwitchError, match="needs an edge"):
        in_production("hybrid", "no-edge", host="shop.example.com")


@pytest.mark.parametrize(
    ("switches", "host", "proxied"),
    [
        ("istio", None, True),
        ("plain", "shop.example.com", True),
        ("plain", None, False),
        ("kong", "shop.example.com", True),
        ("kong", None, False),
    ],
)
def test_the_edge_takes_clients_addresses_only_from_a_proxy_of_the_manifests(
    switches: str, host: str | None, proxied: bool
) -> None:
    bench, production = everything("hybrid", switches), in_production("hybrid", switches, host=host)
    trusts = [
        any(word in json.dumps([one(each, kind, "edge") for kind in ("ConfigMap", "Deployment")]) for word in TRUST)
        for each in (bench, production)
    ]
    assert trusts == [False, proxied]


@pytest.mark.parametrize("given", [{"host": "Shop.example"}, {"collector": "jaeger"}, {"host": "shop.example:443"}])
def test_an_unreachable_host_name_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(SwitchError, match="give a full host name in lower case, such as"):
        ClusterOptions(tag="t", **given)  # type: ignore[arg-type]
