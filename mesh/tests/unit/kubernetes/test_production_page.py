"""The production overlay built by Kustomize, alone and as the base of the overlay in docs/system/production.md."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from mesh.cli import app
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.kubernetes.manifests.bundle import BENCH, PRODUCTION, manifests
from mesh.kubernetes.manifests.files import write
from mesh.kubernetes.manifests.secrets import DATABASE, KEYS
from mesh.kubernetes.options import ClusterOptions
from mesh.paths import ROOT

PAGE = ROOT / "docs" / "system" / "production.md"
TO_JAEGER = "spans-to-jaeger"
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl, which builds overlays, is missing")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The resources of the page's overlay."""
    folder = tmp_path_factory.mktemp("manifests")
    write(manifests(load_topology("hybrid"), Switches(runtime="kubernetes"), ClusterOptions(tag="0.1.0-test")), folder)
    for path, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return build(folder / "overlays" / "mine")


def build(overlay: Path) -> list[dict[str, Any]]:
    command = ["kubectl", "kustomize", str(overlay)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


def of_kind(built: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in built if each["kind"] == kind]


@needs_kubectl
def test_images_come_by_digest_and_with_the_registrys_secret(built: list[dict[str, Any]]) -> None:
    for owner in [*of_kind(built, "Deployment"), *of_kind(built, "Job")]:
        pod = owner["spec"]["template"]["spec"]
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            if "/shop" in container["image"]:
                assert re.fullmatch(r"registry\.example\.com/hopwise/shop@sha256:[0-9a-f]{64}", container["image"])
    accounts = of_kind(built, "ServiceAccount")
    assert all(account["imagePullSecrets"] == [{"name": "registry"}] for account in accounts)
    assert accounts


@needs_kubectl
def test_the_claims_are_those_of_the_overlay_and_the_secrets_those_that_pods_name(built: list[dict[str, Any]]) -> None:
    scaled = {each["spec"]["scaleTargetRef"]["name"] for each in of_kind(built, "HorizontalPodAutoscaler")}
    claims = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        for each in of_kind(built, "Deployment")
        if each["metadata"]["name"] in scaled
    }
    assert claims == dict.fromkeys(scaled, "100m")
    pools = {
        each["metadata"]["name"]
        for each in of_kind(built, "Deployment")
        if {"name": "SHOP_DATABASE_POOL", "value": "2"}
        in each["spec"]["template"]["spec"]["containers"][0].get("env", ())
    }
    assert pools == {"product", "order", "user", "payment"}
    assert {each["metadata"]["name"] for each in of_kind(built, "ExternalSecret")} == {KEYS, DATABASE}


@needs_kubectl
@pytest.mark.parametrize(("mtls", "injected"), [("on", "true"), ("off", "false")])
def test_with_mtls_jaeger_has_a_sidecar_which_every_span_passes(tmp_path: Path, mtls: str, injected: str) -> None:
    switches = Switches(runtime="kubernetes", mesh="istio", mtls=mtls, canary=10, metrics="on")
    write(manifests(load_topology("hybrid"), switches, ClusterOptions(tag="0.1.0-test")), tmp_path)
    resources = build(tmp_path / PRODUCTION)
    pods = {each["metadata"]["name"]: each["spec"]["template"] for each in of_kind(resources, "Deployment")}
    jaeger = pods.pop("jaeger")
    assert jaeger["metadata"]["labels"]["sidecar.istio.io/inject"] == injected
    allowed = [each for each in of_kind(resources, "AuthorizationPolicy") if each["metadata"]["name"] == TO_JAEGER]
    spans = {"18070", "18071"}
    direct = {
        name: spans & set(pod["metadata"]["annotations"]["traffic.sidecar.istio.io/excludeOutboundPorts"].split(","))
        for name, pod in pods.items()
    }
    if mtls == "off":
        assert (allowed, direct) == ([], dict.fromkeys(pods, spans))
        return
    assert not any(direct.values())
    # Jaeger's sidecar guards all of Jaeger's ports, because Prometheus does not scrape Jaeger.
    assert "traffic.sidecar.istio.io/excludeInboundPorts" not in jaeger["metadata"]["annotations"]
    (rule,) = allowed[0]["spec"]["rules"]
    senders = {f"cluster.local/ns/hopwise/sa/{pod['spec']['serviceAccountName']}" for pod in pods.values()}
    assert set(rule["from"][0]["source"]["principals"]) == senders
    assert set(rule["to"][0]["operation"]["ports"]) == spans
    # The authority must be a host: Jaeger's sidecar refuses a cluster's name, and the edge's sidecar routes by host.
    texts = [json.dumps(each) for each in resources if each["kind"] in ("EnvoyFilter", "ConfigMap")]
    sent = [json.loads(each) for text in texts for each in re.findall(r'"envoy_grpc": (\{.+?\})', text)]
    assert {each["authority"] for each in sent} == {"jaeger.hopwise.svc.cluster.local:18070"}
    config = next(each for each in of_kind(resources, "ConfigMap") if each["metadata"]["name"] == "edge")
    edge = yaml.load(config["data"]["envoy.yaml"], Loader=yaml.CSafeLoader)
    manager = edge["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    exporter = manager["tracing"]["provider"]["typed_config"]["grpc_service"]
    assert exporter["envoy_grpc"] == {"cluster_name": "jaeger-otlp", "authority": "jaeger:18070"}


def test_the_command_names_both_overlays(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["manifests", "--host", "shop.example.com", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert {f"{tmp_path}/{overlay}" for overlay in (BENCH, PRODUCTION)} <= set(done.output.split())
