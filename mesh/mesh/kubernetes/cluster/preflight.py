"""Checks that a cluster can run the shop, before anything is created in it."""

from __future__ import annotations

import re

from mesh.description.switches import Switches
from mesh.errors import ClusterError
from mesh.kubernetes.cluster.kubectl import REQUEST_LIMIT, Kubectl

MIN_VERSION = (1, 30)
"""The first version of Kubernetes with the features that the manifests use: sleep as a preStop action, and native
sidecars."""
ISTIO_KINDS = "networking.istio.io"
INJECTOR = "istio-sidecar-injector"
CNI = "k8s-app=istio-cni-node"
NEEDED = tuple((verb, "namespaces") for verb in ("create", "patch", "get", "list", "watch", "delete"))
"""Permissions on the run's namespace: server-side apply patches it, and the run watches its deletion."""
USAGE = (("nodes", "--subresource=proxy"), ("pods.metrics.k8s.io",))
"""Sources of the containers' CPU usage; one of the two is enough."""


def require_usable(kubectl: Kubectl, switches: Switches) -> None:
    """Checks that the current context's cluster answers, lets this user create namespaces, and supports the switches.

    Raises:
        ClusterError: The cluster cannot be used; the message has the reason and what to do.
    """
    _require_answer(kubectl)
    for verb, resource in NEEDED:
        if not kubectl.may(verb, resource):
            raise ClusterError(
                f"the context {kubectl.context} is not allowed to {verb} {resource}, but each run needs a separate "
                "namespace. Use a context that is allowed, or ask the cluster's administrator for the permission."
            )
    if switches.mesh == "istio":
        _require_istio(kubectl)


def require_usage(kubectl: Kubectl) -> None:
    """Checks that this user may read the resource usage of a namespace's containers.

    The namespace must exist, because its creation may give the user permissions in it.

    Raises:
        ClusterError: The user may not read it; the message has the missing permissions.
    """
    if not any(kubectl.may("get", *resource) for resource in USAGE):
        raise ClusterError(
            f"the context {kubectl.context} can get neither nodes/proxy nor pods.metrics.k8s.io, but a run needs one "
            "of them for the pods' CPU and memory usage. Use a context that can get one, or ask the cluster's "
            "administrator for the permission."
        )


def has_istio_cni(kubectl: Kubectl) -> bool:
    """Whether the cluster's nodes redirect traffic to sidecars, so that pods need no privilege for it."""
    asked = kubectl.ask("get", "daemonsets", "--all-namespaces", f"--selector={CNI}", "--output=name", REQUEST_LIMIT)
    return asked.returncode == 0 and bool(asked.stdout.strip())


def _require_answer(kubectl: Kubectl) -> None:
    try:
        version = kubectl.version()
    except ClusterError as error:
        raise ClusterError(
            f"the cluster of the context {kubectl.context} does not answer: {error}. Start it, or choose another "
            "context with `kubectl config use-context NAME`."
        ) from error
    numbers = tuple(map(int, re.findall(r"[0-9]+", version)[:2]))
    if numbers < MIN_VERSION:
        raise ClusterError(
            f"the cluster of the context {kubectl.context} is Kubernetes {version}; "
            f"{'.'.join(map(str, MIN_VERSION))} or later is needed."
        )


def _require_istio(kubectl: Kubectl) -> None:
    kinds = kubectl.run("api-resources", f"--api-group={ISTIO_KINDS}", "--output=name", REQUEST_LIMIT)
    injector = kubectl.ask("get", "mutatingwebhookconfigurations", "--output=name", REQUEST_LIMIT)
    lacks = [] if "envoyfilters" in kinds else [f"resources of {ISTIO_KINDS}"]
    # If the user may not list webhooks, the pods show later whether they have sidecars.
    if injector.returncode == 0 and INJECTOR not in injector.stdout:
        lacks.append("webhook that injects sidecars")
    if lacks:
        raise ClusterError(
            f"mesh=istio: the context {kubectl.context} has no Istio: its cluster has no {', and no '.join(lacks)}. "
            "Install Istio there (`istioctl install`), or give mesh=none."
        )
