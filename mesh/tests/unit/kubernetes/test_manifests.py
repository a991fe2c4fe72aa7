"""The manifests are valid for the API, safe to run, and have the same settings as a native run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from stand_ins import DEPLOYED, LINKED

from mesh.components.trial import require_fit
from mesh.description.switches import Switches
from mesh.description.topology import GATEWAYS, SERVICES, Program, load_topology, parse_topology
from mesh.errors import SwitchError
from mesh.kubernetes.cluster.preflight import MIN_VERSION
from mesh.kubernetes.manifests.bundle import BASE, BENCH, KUSTOMIZATION, PRODUCTION, Manifests, documents, manifests
from mesh.kubernetes.manifests.files import as_yaml, make_secrets, write
from mesh.kubernetes.manifests.secrets import DATABASE, DATABASE_KEYS, KEYS
from mesh.kubernetes.options import ClusterOptions

PUBLIC_KEY = "\n".join(
    [
        "-----BEGIN PUBLIC KEY-----",
        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
        "-----END PUBLIC KEY-----",
    ]
)
OPTIONS = ClusterOptions(
    tag="0.1.0-test", namespace="shop", replicas={"product": 2}, trial="t", jwt_public_key=PUBLIC_KEY
)
SWITCHES = {
    "plain": Switches(runtime="kubernetes"),
    "no-edge": Switches(runtime="kubernetes", edge="none", http=1),
    "kong": Switches(runtime="kubernetes", edge="kong", plugins="typical"),
    "kong-mtls": Switches(runtime="kubernetes", edge="kong", mesh="istio", mtls="on"),
    "istio": Switches(runtime="kubernetes", mesh="istio"),
    "istio-mtls": Switches(runtime="kubernetes", mesh="istio", mtls="on", canary=10),
    "metrics": Switches(runtime="kubernetes", mesh="istio", mtls="on", canary=10, metrics="on"),
    "kong-metrics": Switches(runtime="kubernetes", edge="kong", metrics="on", plugins="all"),
}


def fits(topology: str, switches: Switches) -> bool:
    try:
        require_fit(load_topology(topology), switches)
    except SwitchError:
        return False
    return True


VARIANTS = [
    (topology, switches) for topology in DEPLOYED for switches in SWITCHES if fits(topology, SWITCHES[switches])
]
BY_SWITCHES = {switches: topology for topology, switches in VARIANTS}
FEW_VARIANTS = sorted({*dict(VARIANTS).items(), *((topology, switches) for switches, topology in BY_SWITCHES.items())})
"""Combinations in which each topology and each set of switches occurs at least once."""
RESOURCES = {part: {"cpu", "memory", "ephemeral-storage"} for part in ("requests", "limits")}
JAEGERS = {"matchLabels": {"app": "jaeger"}}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
CONTAINERS = ("containers", "initContainers")
OWN_GROUPS = ("istio.io", "gateway.networking.k8s.io", "monitoring.coreos.com")
"""API groups whose kinds are not part of Kubernetes itself; Istio's tools check them."""


@cache
def make(topology: str, switches: str, **options: Any) -> Manifests:
    return manifests(load_topology(topology), SWITCHES[switches], replace(OPTIONS, **options))


def everything(topology: str, switches: str) -> list[dict[str, Any]]:
    files = make(topology, switches)
    return [each for path, inside in files.items() if not path.endswith(KUSTOMIZATION) for each in inside]


@cache
def every_variant() -> dict[str, dict[str, Any]]:
    """The distinct resources of all variants, by their JSON."""
    return {json.dumps(each, sort_keys=True): each for variant in VARIANTS for each in everything(*variant)}


@cache
def every_shape() -> list[dict[str, Any]]:
    """One document of each shape. Documents have the same shape if they differ only in numbers, names of components and
    values of variables."""
    free = re.compile(rf'[0-9]+|(?<="value": )"[^"]*"|{"|".join((*GATEWAYS, *SERVICES))}')
    shapes = {free.sub("0", text): each for text, each in every_variant().items()}
    return [each for each in shapes.values() if not any(group in each["apiVersion"] for group in OWN_GROUPS)]


def pod_of(resource: dict[str, Any]) -> dict[str, Any] | None:
    template = resource.get("spec", {}).get("template", {})
    return template.get("spec") if "spec" in template else None


def containers_of(resource: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    pod = pod_of(resource) or {}
    return [(kind, each) for kind in CONTAINERS for each in pod.get(kind, [])]


def read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def name_of(resource: dict[str, Any]) -> str:
    return str(resource.get("metadata", resource)["name"])


def one(resources: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    # Resources in both overlays, such as the edge, come first in the bench's version.
    return next(each for each in resources if (each["kind"], each["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize("version", [".".join(map(str, MIN_VERSION)), kubernetes_validate.latest_version()])
def test_every_resource_is_valid_for_the_oldest_and_newest_api(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The schema is read only once, because it consists of megabytes of JSON.
    monkeypatch.setattr(kubernetes_validate.utils, "schema_contents", cache(kubernetes_validate.utils.schema_contents))
    for each in every_shape():
        kubernetes_validate.validate(each, ".".join(version.split(".")[:2]), strict=True)
    assert every_shape()


def test_no_pod_runs_as_root_with_a_writable_root_or_without_limits_or_probes() -> None:
    wrong = []
    for resource in every_variant().values():
        pod = pod_of(resource)
        if pod is None:
            continue
        name = resource["metadata"]["name"]
        who = pod["securityContext"]
        if not (who["runAsNonRoot"] and who["runAsUser"] > 0 and who["seccompProfile"] == {"type": "RuntimeDefault"}):
            wrong.append(f"{name}: runs as root, or with any system call")
        if pod["automountServiceAccountToken"] is not False or pod["serviceAccountName"] == "default":
            wrong.append(f"{name}: may call the cluster's API")
        for kind, each in containers_of(resource):
            may = each["securityContext"]
            if not may["readOnlyRootFilesystem"] or may["allowPrivilegeEscalation"]:
                wrong.append(f"{name}/{each['name']}: writable root, or privileges")
            if may["capabilities"] != {"drop": ["ALL"]}:
                wrong.append(f"{name}/{each['name']}: capabilities")
            if {part: set(named) for part, named in each["resources"].items()} != RESOURCES:
                wrong.append(f"{name}/{each['name']}: no requests, or no limits")
            if kind == "containers" and resource["kind"] != "Job":
                wrong += [f"{name}: no {probe}" for probe in PROBES if probe not in each]
            if each["image"].endswith(":latest") or ":" not in each["image"]:
                wrong.append(f"{name}: {each['image']} is any image")
    assert wrong == []


@pytest.mark.parametrize("variant", FEW_VARIANTS, ids="-".join)
def test_rendering_twice_gives_the_same_bytes(variant: tuple[str, str]) -> None:
    topology, switches = variant
    again, before = manifests(load_topology(topology), SWITCHES[switches], OPTIONS), make(*variant)
    # JSON keeps the order of documents, as YAML does, but YAML would take a second for each variant.
    assert json.dumps(again) == json.dumps(before)
    path = next(iter(again))
    assert as_yaml(again[path]) == as_yaml(before[path])


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_references_of_resources_exist(variant: tuple[str, str]) -> None:
    resources = everything(*variant)
    known = {(each["kind"], each["metadata"]["name"]) for each in resources}
    keys = {KEYS: {"jwt-private.pem", "jwt-public.pem"}, DATABASE: set(DATABASE_KEYS)}
    for resource in resources:
        pod = pod_of(resource)
        if pod is None:
            continue
        assert ("ServiceAccount", pod["serviceAccountName"]) in known
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for volume in volumes.values():
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in known
            if "secret" in volume:
                assert {item["key"] for item in volume["secret"]["items"]} <= keys[volume["secret"]["secretName"]]
        for _, each in containers_of(resource):
            assert {mount["name"] for mount in each["volumeMounts"]} <= volumes.keys()
            settings = [(variable["name"], str(variable.get("value"))) for variable in each.get("env", [])]
            mounted = {
                f"{mount['mountPath']}/{item['key']}"
                for mount in each["volumeMounts"]
                for item in volumes[mount["name"]].get("secret", {}).get("items", [])
            }
            assert {file for name, file in settings if name.endswith("_FILE")} <= mounted, name_of(each)


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_each_service_leads_to_a_port_of_the_pods_that_it_selects(variant: tuple[str, str]) -> None:
    resources = everything(*variant)
    owners = [each for each in resources if each["kind"] in ("Deployment", "StatefulSet")]
    for service in (each for each in resources if each["kind"] == "Service"):
        wanted = service["spec"]["selector"].items()
        behind = [each for each in owners if wanted <= each["spec"]["template"]["metadata"]["labels"].items()]
        assert behind, service["metadata"]["name"]
        for owner in behind:
            served = {port["containerPort"] for _, each in containers_of(owner) for port in each.get("ports", [])}
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= served


def test_there_are_no_pages_for_people_who_try_the_shop() -> None:
    everywhere = "".join(every_variant())
    assert [
        word for word in ("SHOP_GRAPHIQL", "SHOP_REFLECTION", "ServerReflection", "<html") if word in everywhere
    ] == []


def test_no_secret_is_in_the_open() -> None:
    text = as_yaml(everything("hybrid", "istio-mtls"))
    assert "postgresql://" not in text
    assert "PRIVATE KEY" not in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://admin:hush%2F@db.example:5432/shop", "postgresql://admin@db.example:5432/shop"),
        ("postgres://admin:hush@[::1]:5432/shop?sslmode=require", "postgres://admin@[::1]:5432/shop?sslmode=require"),
        (
            "postgresql:///shop?user=admin&password=hush&host=db.example",
            "postgresql:///shop?user=admin&password=-&host=db.example",
        ),
        ("postgresql://admin@[::1]:5432/shop", "postgresql://admin@[::1]:5432/shop"),
    ],
)
def test_a_job_that_waits_for_the_database_does_not_reveal_its_password(tmp_path: Path, url: str, shown: str) -> None:
    resources = documents(manifests(load_topology("rest"), SWITCHES["plain"], ClusterOptions(tag="t")), PRODUCTION)
    (job,) = [each for each in resources if each["kind"] == "Job"]
    (waiting,) = (pod_of(job) or {})["initContainers"]
    (tmp_path / "admin-url").write_text(f"{url}\n")
    asked = tmp_path / "pg_isready"
    asked.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/shown\n')
    asked.chmod(0o755)
    *shell, script = waiting["command"]
    argv = [*shell, script.replace("/etc/hopwise/database/", f"{tmp_path}/")]
    subprocess.run(argv, env={"PATH": f"{tmp_path}:{os.defpath}"}, check=True, timeout=10)
    assert (tmp_path / "shown").read_text() == f"--dbname={shown}\n"


def test_only_the_user_service_may_read_the_key_that_signs() -> None:
    readers = {
        each["metadata"]["name"]
        for each in everything("hybrid", "plain")
        if "jwt-private.pem" in json.dumps((pod_of(each) or {}).get("volumes", []))
    }
    assert readers == {"user"}


def test_processes_get_the_settings_of_a_native_run_with_names_of_the_cluster() -> None:
    order = one(everything("hybrid", "istio-mtls"), "Deployment", "order")
    (container,) = order["spec"]["template"]["spec"]["containers"]
    env = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert env["SHOP_PEER_PRODUCT"] == "grpc://product:18020"
    assert env["SHOP_LISTEN_GRPC"] == "0.0.0.0:18030"
    assert env["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://jaeger:18070"
    assert env["SHOP_EDGE_IDENTITY"] == "spiffe://cluster.local/ns/shop/sa/edge"
    assert env["SHOP_DATABASE_URL_FILE"] == "/etc/hopwise/database/order-url"
    assert container["command"] == ["python", "-m", "measured", "order"]


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


def test_components_by_other_programs_have_separate_images() -> None:
    product = one(everything("hybrid-go", "istio-mtls"), "Deployment", "product")
    (container,) = product["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == (OPTIONS.image("shop-go"), ["product"])
    assert {"name": "SHOP_CONTRACT", "value": "1"} in container["env"]
    (waits,) = product["spec"]["template"]["spec"]["initContainers"]
    assert waits["image"] == OPTIONS.image("shop")
    theirs = load_topology("hybrid").model_copy(update={"programs": {"product": Program(image="mine:1")}})
    resources = manifests(theirs, SWITCHES["plain"], OPTIONS)[f"{BASE}/product.yaml"]
    (container,) = one(list(resources), "Deployment", "product")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mine:1"
    assert "command" not in container


def test_a_user_s_topology_gets_manifests_too() -> None:
    text = (Path(__file__).parents[4] / "docs" / "tutorial" / "mine.yaml").read_text()
    made_of = manifests(parse_topology(text, "mine.yaml"), SWITCHES["plain"], OPTIONS)
    assert f"{BASE}/product.yaml" in made_of


@pytest.mark.parametrize("topology", LINKED)
def test_network_policies_and_permissions_follow_the_links(topology: str) -> None:
    resources, links = everything(topology, "istio-mtls"), load_topology(topology).links
    services = load_topology(topology).components
    allowed = {
        (source["podSelector"]["matchLabels"]["app"], policy["metadata"]["name"])
        for policy in resources
        if policy["kind"] == "NetworkPolicy" and policy["metadata"]["name"] in services
        for rule in policy["spec"]["ingress"]
        for source in rule["from"]
    }
    permitted = {
        (
            rule["from"][0]["source"]["principals"][0].rpartition("/")[2],
            policy["spec"]["selector"]["matchLabels"]["app"],
        )
        for policy in resources
        if policy["kind"] == "AuthorizationPolicy" and policy["spec"].get("selector", JAEGERS) != JAEGERS
        for rule in policy["spec"]["rules"]
    }
    behind = {("edge", name) for name in load_topology(topology).behind_edge}
    expected = {(caller, callee) for caller, called in links.items() if caller in services for callee in called}
    assert allowed == expected | behind
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


@pytest.mark.parametrize(("topology", "switches"), VARIANTS)
def test_every_autoscaler_measures_a_container_of_its_pods(topology: str, switches: str) -> None:
    resources = everything(topology, switches)
    # Istio makes its gateway's pods, and gives their only container the name that sidecars have.
    containers = {"shop-istio": ["istio-proxy"]}
    for each in resources:
        if each["kind"] == "Deployment":
            names = [container["name"] for container in each["spec"]["template"]["spec"]["containers"]]
            containers[each["metadata"]["name"]] = names
    scalers = [each["spec"] for each in resources if each["kind"] == "HorizontalPodAutoscaler"]
    # The production overlay's patch changes the request of the first container.
    assert all(containers[name][0] == name for name in (scaler["scaleTargetRef"]["name"] for scaler in scalers))
    data = [each["data"] for each in resources if each["kind"] == "ConfigMap"]
    scalers += [
        json.loads(each["horizontalPodAutoscaler"])["spec"] for each in data if "horizontalPodAutoscaler" in each
    ]
    assert scalers
    for scaler in scalers:
        (metric,) = scaler["metrics"]
        assert metric["containerResource"]["container"] in containers[scaler["scaleTargetRef"]["name"]]


def test_without_certificates_no_caller_is_refused_and_the_gateway_needs_no_permission() -> None:
    assert not [each for each in everything("hybrid", "istio") if each["kind"] == "AuthorizationPolicy"]


def test_istio_s_resources_stay_in_the_namespace() -> None:
    assert {each["metadata"].get("namespace", "shop") for each in everything("hybrid", "istio-mtls")} == {"shop"}


def test_spans_of_sidecars_have_the_names_of_a_native_mesh() -> None:
    filters = [each for each in everything("hybrid", "istio-mtls") if each["kind"] == "EnvoyFilter"]
    spoken = set(re.findall(r"service_name: (\S+)", as_yaml(filters)))
    assert {"product-inbound", "product-outbound", "product-canary-inbound", "edge-outbound"} <= spoken
    assert "edge-inbound" not in spoken


def test_a_canary_shares_the_service_and_gets_its_part_of_the_calls() -> None:
    resources = everything("hybrid", "istio-mtls")
    canary = one(resources, "Deployment", "product-canary")["spec"]["template"]["metadata"]["labels"]
    assert (canary["app"], canary["version"]) == ("product", "canary")
    route = one(resources, "VirtualService", "product")["spec"]["http"][0]["route"]
    assert {part["destination"]["subset"]: part["weight"] for part in route} == {"stable": 90, "canary": 10}


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


def test_pods_end_only_when_their_clients_have_left() -> None:
    for resource in everything("hybrid", "plain"):
        if resource["kind"] != "Deployment" or resource["metadata"]["name"] == "jaeger":
            continue
        pod = pod_of(resource)
        assert pod is not None
        (container,) = pod["containers"]
        assert "preStop" in container["lifecycle"]
        update = resource["spec"]["strategy"]["rollingUpdate"]
        assert update == {"maxSurge": 1, "maxUnavailable": 0}


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


@pytest.mark.parametrize("text", ["57e81234", "08123456", "1e5", "1.5e5", "0o17", "12345678", "1.", ".5"])
def test_a_text_that_kubectl_would_take_for_a_number_has_quotes(text: str) -> None:
    assert as_yaml([{"label": text}]) == f"label: '{text}'\n"
    assert yaml.safe_load(as_yaml([{"number": 57, "share": 0.5, "tag": "0.1.0-57e81234"}])) == {
        "number": 57,
        "share": 0.5,
        "tag": "0.1.0-57e81234",
    }


def test_files_are_whole_and_secrets_are_kept(tmp_path: Path) -> None:
    files = make("grpc", "istio-mtls")
    make_secrets(tmp_path, OPTIONS)
    write(files, tmp_path)
    secrets = {file.name: file.read_bytes() for file in (tmp_path / BENCH / "secrets").iterdir()}
    (tmp_path / BASE / "old.yaml").write_text("{}")
    make_secrets(tmp_path, OPTIONS)
    write(files, tmp_path)
    assert {file.name: file.read_bytes() for file in (tmp_path / BENCH / "secrets").iterdir()} == secrets
    assert (tmp_path / BENCH / "secrets").stat().st_mode & 0o077 == 0
    for folder in (BASE, BENCH, PRODUCTION):
        kustomization = yaml.safe_load((tmp_path / folder / KUSTOMIZATION).read_text())
        named = {path for path in kustomization["resources"] if not path.startswith("..")}
        assert named == {file.name for file in (tmp_path / folder).glob("*.yaml")} - {KUSTOMIZATION}
        for generated in kustomization.get("secretGenerator", []):
            assert all((tmp_path / folder / path).is_file() for path in generated["files"])


@pytest.mark.parametrize(("namespace", "storage"), [("Shop", None), ("shop", "10"), ("-shop", None), ("shop", "10GB")])
def test_values_that_kubernetes_would_refuse_are_refused_with_a_valid_one(namespace: str, storage: str | None) -> None:
    with pytest.raises(SwitchError, match="is not valid"):
        ClusterOptions(tag="t", namespace=namespace, storage=storage)


def test_the_edge_refuses_early_with_admission_on() -> None:
    made = json.dumps(manifests(load_topology("hybrid"), Switches(runtime="kubernetes", admission="on"), OPTIONS))
    assert "adaptive_concurrency" in made
    assert "adaptive_concurrency" not in json.dumps(make("hybrid", "plain"))


def in_production(topology: str, switches: str, **options: Any) -> list[dict[str, Any]]:
    return documents(make(topology, switches, **options), PRODUCTION)


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


@pytest.mark.parametrize("given", [{"host": "Shop.example"}, {"collector": "jaeger"}, {"host": "shop.example:443"}])
def test_an_unreachable_host_name_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(SwitchError, match="give a full host name in lower case, such as"):
        ClusterOptions(tag="t", **given)  # type: ignore[arg-type]
