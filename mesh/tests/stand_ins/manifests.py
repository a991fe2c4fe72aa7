"""Manifests of every topology that can be deployed, with each set of switches, and how tests look into them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from mesh.components.trial import require_fit
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.errors import SwitchError
from mesh.kubernetes.manifests.bundle import KUSTOMIZATION, PRODUCTION, Manifests, documents, manifests
from mesh.kubernetes.options import ClusterOptions
from stand_ins import DEPLOYED

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
CONTAINERS = ("containers", "initContainers")


@cache
def make(topology: str, switches: str, **options: Any) -> Manifests:
    return manifests(load_topology(topology), SWITCHES[switches], replace(OPTIONS, **options))


def everything(topology: str, switches: str) -> list[dict[str, Any]]:
    files = make(topology, switches)
    return [each for path, inside in files.items() if not path.endswith(KUSTOMIZATION) for each in inside]


def in_production(topology: str, switches: str, **options: Any) -> list[dict[str, Any]]:
    return documents(make(topology, switches, **options), PRODUCTION)


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
