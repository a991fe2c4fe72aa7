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
from stand_ins.manifests import OPTIONS, SWITCHES, VARIANTS, containers_of, everything, make, name_of, one, pod_of

from mesh.description.topology import GATEWAYS, SERVICES, Program, load_topology, parse_topology
from mesh.errors import InputError, SwitchError
from mesh.kubernetes.cluster.preflight import MIN_VERSION
from mesh.kubernetes.manifests.bundle import BASE, BENCH, KUSTOMIZATION, PRODUCTION, documents, manifests
from mesh.kubernetes.manifests.files import HEADER, as_yaml, make_secrets, write
from mesh.kubernetes.manifests.secrets import DATABASE, DATABASE_KEYS, KEYS
from mesh.kubernetes.options import ClusterOptions

BY_SWITCHES = {switches: topology for topology, switches in VARIANTS}
FEW_VARIANTS = sorted({*dict(VARIANTS).items(), *((topology, switches) for switches, topology in BY_SWITCHES.items())})
"""Combinations in which each topology and each set of switches occurs at least once."""
RESOURCES = {part: {"cpu", "memory", "ephemeral-storage"} for part in ("requests", "limits")}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
OWN_GROUPS = ("istio.io", "gateway.networking.k8s.io", "monitoring.coreos.com")
"""API groups whose kinds are not part of Kubernetes itself; Istio's tools check them."""


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
    (tmp_path / BASE / "old.yaml").write_text(f"{HEADER}{{}}")
    theirs = tmp_path / BASE / "theirs.yaml"
    theirs.write_text("{}")
    make_secrets(tmp_path, OPTIONS)
    write(files, tmp_path)
    theirs.unlink()
    assert {file.name: file.read_bytes() for file in (tmp_path / BENCH / "secrets").iterdir()} == secrets
    assert (tmp_path / BENCH / "secrets").stat().st_mode & 0o077 == 0
    for folder in (BASE, BENCH, PRODUCTION):
        kustomization = yaml.safe_load((tmp_path / folder / KUSTOMIZATION).read_text())
        named = {path for path in kustomization["resources"] if not path.startswith("..")}
        assert named == {file.name for file in (tmp_path / folder).glob("*.yaml")} - {KUSTOMIZATION}
        for generated in kustomization.get("secretGenerator", []):
            assert all((tmp_path / folder / path).is_file() for path in generated["files"])


@pytest.mark.parametrize("url", ["postgresql://me@h/db", "mysql://me:secret@h/db", "postgresql://me:secret@h:x/db"])
def test_no_secrets_are_made_for_a_database_without_a_password_or_of_another_kind(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="DATABASE_URL: must look like"):
        make_secrets(tmp_path, replace(OPTIONS, database_url=url))
    assert not list(tmp_path.rglob("*-url"))


@pytest.mark.parametrize(("namespace", "storage"), [("Shop", None), ("shop", "10"), ("-shop", None), ("shop", "10GB")])
def test_values_that_kubernetes_would_refuse_are_refused_with_a_valid_one(namespace: str, storage: str | None) -> None:
    with pytest.raises(SwitchError, match="is not valid"):
        ClusterOptions(tag="t", namespace=namespace, storage=storage)
