"""State of a namespace's injected sidecars, from their own statistics."""

from __future__ import annotations

from mesh.description.topology import EDGE
from mesh.kubernetes.cluster.causes import name_of
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.manifests.ingress import PROXY
from mesh.sidecars.stats import STATS, Answer, SidecarFacts, counters_of, facts_of

INBOUND = "0.0.0.0_15006"
"""The listener to which Istio's iptables redirect all of a pod's incoming traffic."""


def read_facts(kubectl: Kubectl, *, encrypted: bool) -> SidecarFacts:
    """Asks every sidecar, and returns the totals."""
    answers = []
    for pod in kubectl.get("pods")["items"]:
        spec, labels = pod["spec"], pod["metadata"].get("labels", {})
        if PROXY not in [container["name"] for container in [*spec["containers"], *spec.get("initContainers", [])]]:
            continue
        asked = kubectl.ask("exec", name_of(pod), f"--container={PROXY}", "--", "pilot-agent", "request", "GET", STATS)
        serves = labels.get("app.kubernetes.io/name") != EDGE
        answers.append(Answer(counters_of(asked.stdout), INBOUND if serves else None))
    return facts_of(answers, encrypted=encrypted)
