"""The checks before a run report why a cluster cannot run the shop."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stand_ins.cluster import FakeCluster

from mesh.description.switches import Switches
from mesh.errors import ClusterError, NotInstalledError
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.preflight import require_usable, require_usage

IN_CLUSTER = Switches(runtime="kubernetes")
WITH_ISTIO = Switches(runtime="kubernetes", mesh="istio")


@pytest.fixture
def cluster(cluster: FakeCluster) -> FakeCluster:
    """A cluster with Istio."""
    injector = "mutatingwebhookconfiguration.admissionregistration.k8s.io/istio-sidecar-injector\n"
    cluster.says("api-resources", "envoyfilters.networking.istio.io\n")
    cluster.says("get mutatingwebhook", injector)
    return cluster


def test_a_usable_cluster_is_used(cluster: FakeCluster) -> None:
    require_usable(Kubectl.current(cluster.environ), WITH_ISTIO)


def test_no_kubectl_is_named() -> None:
    with pytest.raises(NotInstalledError, match="KUBECTL_BIN=nowhere is not a program"):
        Kubectl.current({"KUBECTL_BIN": "nowhere"})


def test_no_context_has_kubectls_words_and_a_way_out(cluster: FakeCluster) -> None:
    cluster.refuses("config current-context", "error: current-context is not set")
    with pytest.raises(ClusterError, match=r"current-context is not set.*use-context") as caught:
        Kubectl.current(cluster.environ)
    assert "leave out runtime=kubernetes" in str(caught.value)


OLD = {"serverVersion": {"gitVersion": "v1.27.1"}}


@pytest.mark.parametrize(
    ("call", "answer", "code", "message"),
    [
        ("version", "", 1, "the context kind does not answer"),
        ("version", OLD, 0, r"v1\.27\.1; 1\.30 or later"),
        *[
            (f"auth can-i {verb} namespaces", "no\n", 1, f"kind is not allowed to {verb} namespaces")
            for verb in ("create", "patch", "watch", "delete")
        ],
    ],
)
def test_an_unusable_cluster_is_refused_with_the_reason(
    cluster: FakeCluster, call: str, answer: Any, code: int, message: str
) -> None:
    cluster.says(call, answer, code=code)
    with pytest.raises(ClusterError, match=message):
        require_usable(cluster.kubectl(), IN_CLUSTER)


def test_one_source_of_usage_is_enough(cluster: FakeCluster) -> None:
    cluster.says("auth can-i get nodes --subresource=proxy", "no\n", code=1)
    require_usage(cluster.kubectl())


def test_a_missing_istio_is_reported_only_if_it_is_needed(cluster: FakeCluster) -> None:
    cluster.says("api-resources", "")
    require_usable(cluster.kubectl(), IN_CLUSTER)
    with pytest.raises(ClusterError, match=r"mesh=istio.*no resources of networking\.istio\.io.*mesh=none"):
        require_usable(cluster.kubectl(), WITH_ISTIO)


def test_a_user_who_may_not_list_webhooks_passes(cluster: FakeCluster) -> None:
    cluster.refuses("get mutatingwebhook", "Error from server (Forbidden): webhooks is forbidden")
    require_usable(cluster.kubectl(), WITH_ISTIO)


def test_a_text_that_yaml_could_take_for_a_number_is_applied_as_a_text(cluster: FakeCluster) -> None:
    labelled = {"kind": "Namespace", "metadata": {"labels": {"hopwise/run": "57e81234"}}}
    cluster.kubectl().apply([labelled])
    assert json.loads(cluster.applied)["items"] == [labelled]


def test_a_refusal_of_the_cluster_is_quoted(cluster: FakeCluster) -> None:
    cluster.refuses("apply", 'Error from server (Forbidden): jobs.batch is forbidden: User "ann" cannot create jobs')
    with pytest.raises(ClusterError, match=r'kubectl apply: .*User "ann" cannot create jobs'):
        cluster.kubectl().apply([{"kind": "Job"}])


def test_of_many_refusals_the_first_are_shown_and_the_others_counted(cluster: FakeCluster) -> None:
    names = ("default", "product", "user", "payment")
    cluster.refuses("apply", "\n".join(f"Error from server (Forbidden): {name} is forbidden" for name in names))
    with pytest.raises(ClusterError) as caught:
        cluster.kubectl().apply([{"kind": "Sidecar"}])
    first = "(Forbidden): default is forbidden; (Forbidden): product is forbidden"
    assert str(caught.value) == f"kubectl apply: {first}; and 2 more like it"
