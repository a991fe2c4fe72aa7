"""Who may call whom in a cluster, and which proxies the calls pass."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from stand_ins import LINKED
from stand_ins.manifests import OPTIONS, SWITCHES, everything, make, one, pod_of, read

from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.kubernetes.manifests.bundle import BENCH, PRODUCTION, documents, manifests
from mesh.kubernetes.manifests.files import as_yaml
from mesh.kubernetes.options import ClusterOptions

JAEGERS = {"matchLabels": {"app": "jaeger"}}


@pytest.mark.parametrize("topology", LINKED)
def test_network_policies_and_permissions_follow_the_links(topology: str) -> None:
    resources, links = everything(topology, "istio-mtls"), load_topology(topology).links
    services = load_topology(topology).components
    allowed = {
        (source["podSelector"]["matchLabels"]["app"], policy["metadata"]["name"], rule["ports"][0]["port"])
        for policy in resources
        if policy["kind"] == "NetworkPolicy" and policy["metadata"]["name"] in services
        for rule in policy["spec"]["ingress"]
        for source in rule["from"]
    }
    permitted = {
        (
            rule["from"][0]["source"]["principals"][0].rpartition("/")[2],
            policy["spec"]["selector"]["matchLabels"]["app"],
            int(rule["to"][0]["operation"]["ports"][0]),
        )
        for policy in resources
        if policy["kind"] == "AuthorizationPolicy" and policy["spec"].get("selector", JAEGERS) != JAEGERS
        for rule in policy["spec"]["rules"]
    }
    behind = {("edge", name) for name in load_topology(topology).behind_edge}
    expected = {(caller, callee) for caller, called in links.items() if caller in services for callee in called}
    assert {(caller, callee) for caller, callee, _ in allowed} == expected | behind
    assert permitted == allowed


def test_all_other_callers_are_refused() -> None:
    resources = everything("hybrid", "istio-mtls")
    assert one(resources, "NetworkPolicy", "nobody")["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }
    assert one(resources, "AuthorizationPolicy", "nobody-else")["spec"] == {}
    assert one(resources, "PeerAuthentication", "default")["spec"] == {"mtls": {"mode": "STRICT"}}


@pytest.mark.parametrize("switches", ["istio-mtls", "kong-mtls"])
@pytest.mark.parametrize("topology", ["hybrid", "grpc"])
def test_clients_without_a_certificate_enter_by_the_gateway_and_reach_the_edge(topology: str, switches: str) -> None:
    resources = everything(topology, switches)
    gateway = one(resources, "Gateway", "shop")["metadata"]
    # The policy that refuses all other callers applies to the gateway's pods too; only a policy for the gateway itself
    # overrides it.
    admitted = one(resources, "AuthorizationPolicy", "shop")
    (target,) = admitted["spec"]["targetRefs"]
    assert target == {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": gateway["name"]}
    assert (admitted["metadata"]["namespace"], admitted["spec"]["action"]) == (gateway["namespace"], "ALLOW")
    assert admitted["spec"]["rules"] == [{}]
    # Forwarded requests have no certificate either: the edge's sidecar does not intercept this port.
    (route,) = [each for each in resources if each["kind"] in ("HTTPRoute", "GRPCRoute")]
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    assert one(resources, "DestinationRule", backend["name"])["spec"]["trafficPolicy"] == {"tls": {"mode": "DISABLE"}}
    edge = one(resources, "Deployment", backend["name"])["spec"]["template"]["metadata"]["annotations"]
    assert edge["traffic.sidecar.istio.io/excludeInboundPorts"] == str(backend["port"])
    ports = [{"protocol": "TCP", "port": backend["port"]}]
    around = one(resources, "NetworkPolicy", "gateway")["spec"]
    assert [port["port"] for port in around["ingress"][0]["ports"]] == [80, 443]
    assert around["egress"][0]["ports"] == ports
    assert one(resources, "NetworkPolicy", "edge")["spec"]["ingress"] == [{"ports": ports}]


def test_pods_of_the_gateway_keep_to_the_namespaces_standard_and_are_two() -> None:
    resources = everything("hybrid", "istio")
    wanted = one(resources, "Gateway", "shop")["spec"]["infrastructure"]["parametersRef"]
    data = one(resources, wanted["kind"], wanted["name"])["data"]
    pod = json.loads(data["deployment"])["spec"]["template"]["spec"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    scaler = json.loads(data["horizontalPodAutoscaler"])["spec"]
    assert (scaler["minReplicas"], scaler["scaleTargetRef"]["name"]) == (2, "shop-istio")
    assert json.loads(data["podDisruptionBudget"])["spec"] == {"maxUnavailable": 1}


def test_without_certificates_no_caller_is_refused_and_the_gateway_needs_no_permission() -> None:
    assert not [each for each in everything("hybrid", "istio") if each["kind"] == "AuthorizationPolicy"]


def test_istio_s_resources_stay_in_the_namespace() -> None:
    assert {each["metadata"].get("namespace", "shop") for each in everything("hybrid", "istio-mtls")} == {"shop"}


def test_spans_of_sidecars_have_the_names_of_a_native_mesh() -> None:
    filters = [each for each in everything("hybrid", "istio-mtls") if each["kind"] == "EnvoyFilter"]
    spoken = set(re.findall(r"service_name: (\S+)", as_yaml(filters)))
    assert {"product-inbound", "product-outbound", "product-canary-inbound", "edge-outbound"} <= spoken
    assert "edge-inbound" not in spoken


def test_a_canary_shares_the_service() -> None:
    canary = one(everything("hybrid", "istio-mtls"), "Deployment", "product-canary")
    labels = canary["spec"]["template"]["metadata"]["labels"]
    assert (labels["app"], labels["version"]) == ("product", "canary")


def test_kong_gets_its_address_and_configuration() -> None:
    resources = everything("hybrid", "kong-mtls")
    (container,) = one(resources, "Deployment", "edge")["spec"]["template"]["spec"]["containers"]
    env = {variable["name"]: variable["value"] for variable in container["env"]}
    config = read(one(resources, "ConfigMap", "edge")["data"]["kong.yaml"])
    assert container["image"] == OPTIONS.kong_image
    assert env["KONG_PROXY_LISTEN"].startswith("0.0.0.0:18000 ")
    assert env["KONG_DECLARATIVE_CONFIG"] == "/etc/hopwise/edge/kong.yaml"
    assert {each["host"] for each in config["services"]} == {"graphql-gateway", "rest-gateway"}
    # A sidecar routes a request by its host, so Kong must send the callee's.
    assert '"rest-gateway:18011"' in json.dumps(config).replace("\\", "")


@pytest.mark.parametrize(
    ("name", "entries"),
    [("grpc", {"edge"}), ("graphql", {"graphql-gateway"}), ("hybrid", {"graphql-gateway", "rest-gateway"})],
)
def test_with_updates_notification_is_called_by_its_entries_and_order_only(name: str, entries: set[str]) -> None:
    switches = replace(SWITCHES["istio-mtls"], updates="on")
    resources = documents(manifests(load_topology(name, updates="on"), switches, OPTIONS))
    policy = one(resources, "NetworkPolicy", "notification")["spec"]
    callers, callees = (
        {peer["podSelector"]["matchLabels"]["app"] for rule in policy[way] for peer in rule[peers]}
        for way, peers in (("ingress", "from"), ("egress", "to"))
    )
    assert (callers, callees) == ({"order", *entries}, {"order", "user", "jaeger"})
    permitted = {each["metadata"]["name"] for each in resources if each["kind"] == "AuthorizationPolicy"}
    assert {each for each in permitted if "notification" in each} == {
        "notification-to-order",
        "notification-to-user",
        "order-to-notification",
        *(f"{entry}-to-notification" for entry in entries),
    }
    for kind in ("Deployment", "Service", "ServiceAccount", "PodDisruptionBudget"):
        assert one(resources, kind, "notification")


@pytest.mark.parametrize(("switches", "headless"), [("plain", True), ("kong", True), ("istio", False)])
def test_without_sidecars_callers_choose_among_the_pods_themselves(switches: str, headless: bool) -> None:
    resources = everything("hybrid", switches)
    chosen_by_callers = {
        each["metadata"]["name"] for each in resources if each["kind"] == "Service" and "clusterIP" in each["spec"]
    }
    shop = {"product", "order", "user", "payment", "graphql-gateway", "rest-gateway"}
    assert chosen_by_callers - {"postgres"} == (shop if headless else set())
    for name in shop:
        pod = pod_of(one(resources, "Deployment", name))
        assert pod is not None
        (container,) = pod["containers"]
        leaves_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        # A pod must outlast its address: name servers may cache it for 30 s, and clients look it up every 5 s.
        assert (leaves_s > 35) == headless
        drain_s = next(int(each["value"]) for each in container["env"] if each["name"] == "SHOP_DRAIN_S")
        assert pod["terminationGracePeriodSeconds"] > leaves_s + drain_s


def test_an_edge_without_a_sidecar_shares_its_requests_out_among_the_pods() -> None:
    envoy = read(one(everything("hybrid", "plain"), "ConfigMap", "edge")["data"]["envoy.yaml"])
    clusters = {each["name"]: each for each in envoy["static_resources"]["clusters"]}
    for name in ("graphql-gateway", "rest-gateway"):
        assert clusters[name]["type"] == "STRICT_DNS"
        assert clusters[name]["health_checks"]
        assert clusters[name]["ignore_health_on_host_removal"] is True
    kong = read(one(everything("hybrid", "kong"), "ConfigMap", "edge")["data"]["kong.yaml"])
    assert {each["host"] for each in kong["services"]} == {"graphql-gateway.upstream", "rest-gateway.upstream"}
    assert [each["targets"] for each in kong["upstreams"]] == [
        [{"target": "graphql-gateway:18010"}],
        [{"target": "rest-gateway:18011"}],
    ]


def test_names_are_looked_up_where_clusters_answer_for_them() -> None:
    policies = [each for each in everything("hybrid", "plain") if each["kind"] == "NetworkPolicy"]
    (names,) = [
        each["spec"]["egress"] for each in policies if each["spec"]["podSelector"] == {} and "egress" in each["spec"]
    ]
    reached = [(str(rule["to"]), {port["port"] for port in rule["ports"]}) for rule in names]
    assert [ports for _, ports in reached] == [{53}, {53}, {5353}]
    assert all(
        place in to
        for place, (to, _) in zip(("kube-system", "169.254.20.10/32", "openshift-dns"), reached, strict=True)
    )


@pytest.mark.parametrize(
    ("overlay", "url", "port"),
    [
        (BENCH, "postgresql://admin:hush@db.example:5433/postgres", 5433),
        (PRODUCTION, "postgresql://admin:hush@db.example:5433/postgres", 5433),
        (PRODUCTION, None, 5432),
    ],
)
def test_a_managed_database_replaces_the_benchs_own(overlay: str, url: str | None, port: int) -> None:
    options = ClusterOptions(tag="t", database_url=url)
    resources = documents(manifests(load_topology("rest"), SWITCHES["istio"], options), overlay)
    assert not [each for each in resources if each["kind"] == "StatefulSet"]
    (rule,) = one(resources, "NetworkPolicy", "order-to-database")["spec"]["egress"]
    assert rule == {"ports": [{"protocol": "TCP", "port": port}]}
    # The sidecar only knows services in the mesh, so it must not intercept this port.
    excluded = one(resources, "Deployment", "order")["spec"]["template"]["metadata"]["annotations"]
    assert str(port) in excluded["traffic.sidecar.istio.io/excludeOutboundPorts"].split(",")
    assert "hush" not in as_yaml(resources) + repr(options)


def test_the_edge_refuses_early_with_admission_on() -> None:
    made = json.dumps(manifests(load_topology("hybrid"), Switches(runtime="kubernetes", admission="on"), OPTIONS))
    assert "adaptive_concurrency" in made
    assert "adaptive_concurrency" not in json.dumps(make("hybrid", "plain"))
