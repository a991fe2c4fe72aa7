"""A topology that runs in a Kubernetes cluster, in a separate namespace that is deleted afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from mesh.components.jaeger import JAEGER, SpanCounts, span_counts
from mesh.components.keys import PRIVATE_KEY, KeyPair, key_pair
from mesh.components.postgres import POSTGRES, Database, database, own_database, require_external, superuser_password
from mesh.components.shop_processes import Data
from mesh.components.telemetry_files import CacheCounts, SpanAccount
from mesh.components.trial import parts_of, require_fit, target_document
from mesh.description.places import Places
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.edge.component import ACCESS_LOG
from mesh.errors import ClusterError, ComponentDiedError, InputError, MeshError, StartError
from mesh.kubernetes.cluster.causes import Resource, causes, find_restarts, is_ready, name_of
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.preflight import has_istio_cni, require_usable, require_usage
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.kubernetes.cluster.sidecars import read_facts
from mesh.kubernetes.manifests.bundle import documents, manifests
from mesh.kubernetes.manifests.edge import ACCESS_LOG as EDGE_LOG
from mesh.kubernetes.manifests.policies import LOAD, links
from mesh.kubernetes.manifests.secrets import KEYS_FOLDER, secrets
from mesh.kubernetes.manifests.stores import JOB, database_limit_s
from mesh.kubernetes.options import cluster_options
from mesh.paths import RunFolder
from mesh.sidecars.stats import SidecarFacts
from mesh.supervisor.process_record import write_json
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import accepts
from mesh.supervisor.run import Run

PREFIX = "hopwise-"
READY_LIMIT_S = 180.0
ROUTES_LIMIT_S = 30.0
DELETE_LIMIT_S = 180.0
LOOK_EVERY_S = 60.0
"""Pause between two looks at the pods: each calls kubectl, whose CPU time disturbs measurements on a single node."""
UNREADY = "no longer ready"
FLUSH_S = 1.5
"""How long to wait for the end of the edge's log, in seconds: the edge writes it at least once a second."""


class ClusterSystem(Run):
    """Everything of one trial in the cluster of the current kubectl context. Use it in a `with` statement.

    Its database, trace store and edge are forwarded to the same ports as in a native run, so that callers outside need
    not know where the system runs.

    Args:
        data: The data that the run starts with; by default, seed 1.
        environ: `DATABASE_URL`, `KUBECTL_BIN`, `IMAGE_PREFIX`, `IMAGE_TAG` and `KONG_IMAGE` are read from it; by
            default, the process's environment.
        folder: Folder of the run; by default, `.run/<base>`.

    Raises:
        SwitchError: The topology cannot run with these switches.
        InputError: DATABASE_URL is not the URL of a PostgreSQL server.
    """

    def __init__(
        self,
        topology: Topology,
        switches: Switches,
        ports: Ports,
        trial: str,
        *,
        data: Data | None = None,
        environ: Mapping[str, str] | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        super().__init__(ports, folder or RunFolder.of(ports.base))
        require_fit(topology, switches)
        self.topology = topology.with_implementations(switches.implementation)
        self.switches = switches
        self.trial = trial
        self._environ = os.environ if environ is None else environ
        self.database = database(ports, self._environ, self.folder)
        self.namespace = f"{PREFIX}{uuid.uuid4().hex[:8]}"
        self.options = replace(
            cluster_options(self._environ),
            namespace=self.namespace,
            replicas=switches.replicas,
            seed=(data or Data()).seed,
            run=self.namespace.removeprefix(PREFIX),
            trial=trial,
        )
        self.places = self.options.places
        self._kubectl: Kubectl | None = None
        self._cordoned = ""
        self._ready: set[str] = set()
        self._nodes: set[tuple[str, str]] = set()
        self._looked = -LOOK_EVERY_S

    @property
    def kubectl(self) -> Kubectl:
        """kubectl for the namespace of the run; the run must have started."""
        if self._kubectl is None:
            raise ClusterError("the run has no namespace yet")
        return self._kubectl

    @property
    def target(self) -> Path:
        return self.folder.target

    @property
    def in_words(self) -> str:
        return ", ".join([*parts_of(self.topology, self.switches), "in a separate namespace"])

    @property
    def edge_log(self) -> Path | None:
        return self.logs / ACCESS_LOG if self.switches.has_edge else None

    def span_counts(self) -> SpanCounts:
        return span_counts(self.ports)

    def span_accounts(self) -> dict[str, SpanAccount]:
        """Always empty: the pods' accounts stay in the pods."""
        return {}

    def edge_cache_counts(self) -> dict[str, int]:
        """Always empty: a cluster has no cache in front of its edge."""
        return {}

    def cache_counts(self, began_s: float, ended_s: float) -> dict[str, CacheCounts]:  # noqa: ARG002
        """Always empty: a cluster has no cache."""
        return {}

    def port_names(self) -> Sequence[str]:
        return [name for _, name in self._forwards()]

    def components(self) -> Sequence[Component]:
        kubectl = Kubectl.current(self._environ)
        remove_leftover(self.folder.cluster_note, self._environ)
        require_usable(kubectl, self.switches)
        database = self._database_in_cluster()
        keys = key_pair(self.folder.keys)
        self.options = replace(self.options, istio_cni=has_istio_cni(kubectl), jwt_public_key=keys.public.read_text())
        write_json(self.target, self._target(keys.private, self.ports))
        self._kubectl = kubectl.within(self.namespace)
        self._keep_earlier_note()
        self._write_note()
        try:
            self._roll_out(self._kubectl, keys, database)
        except MeshError:
            self._keep_logs()
            raise
        return [self._forward(service, name) for service, name in self._forwards()]

    @contextlib.contextmanager
    def watching(self, pods: Iterable[str]) -> Iterator[None]:
        """Watches further pods, which are ready, for as long as the context lasts.

        Raises:
            ComponentDiedError: A call to the cluster failed, because a pod was lost; the message has the pod's reason.
        """
        further = set(pods)
        self._ready |= further
        try:
            yield
        except ClusterError as error:
            with contextlib.suppress(ClusterError):
                for lost in self._lost():
                    raise lost from error
            raise
        finally:
            self._ready -= further

    @contextlib.contextmanager
    def replacing(self, components: Collection[str]) -> Iterator[Sequence[Resource]]:
        """Allows the removal of these components' pods inside the context, and waits at its end for new pods.

        Yields the components' pods.

        Raises:
            StartError: The new pods did not become ready.
        """
        pods = self._pods_of(components)
        ways = [f"{name}-forward" for service, name in self._forwards() if service in components]
        for way in ways:  # each port forward ends with the pod that it leads to
            self.kill(way)
        self._ready -= set(map(name_of, pods))
        yield pods
        Rollout(self.kubectl, self.interrupts.check).until_ready(sorted(components), READY_LIMIT_S)
        self._look_after(self._pods_of(components))
        for way in ways:
            self.restart(way)

    @contextlib.contextmanager
    def cordoned(self, node: str) -> Iterator[None]:
        """Cordons a node inside the context, and uncordons it at the end.

        If the run is killed meanwhile, the next run uncordons the node.

        Raises:
            ClusterError: The cluster refused.
        """
        self._cordoned = node
        self._write_note()
        try:
            yield
        finally:
            with self.interrupts.defer():
                self.kubectl.run("uncordon", node)
            self._cordoned = ""
            self._write_note()

    def find_dead(self) -> list[ComponentDiedError]:
        dead = super().find_dead()
        if not dead and time.monotonic() - self._looked > LOOK_EVERY_S:
            dead = self._lost()
            self._looked = time.monotonic()
        return dead

    def check_now(self) -> None:
        """Checks the same as `check`, but always looks at the cluster again."""
        self._looked = -LOOK_EVERY_S
        self.check()

    def sidecar_facts(self) -> SidecarFacts | None:
        return None if self.switches.mesh == "none" else read_facts(self.kubectl, encrypted=self.switches.encrypted)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An interrupted run waits only until the cluster has deleted its resources.
        if kind is None or issubclass(kind, Exception):
            self.interrupts.hold()
            self._keep_logs()
        super().__exit__(kind, error, trace)

    def stop_serving(self) -> None:
        """Does nothing: the pods end with their namespace, and only port forwards run on this machine."""

    def tidy(self) -> None:
        super().tidy()
        if self._kubectl is not None and _undo(self._kubectl, self.namespace, self._cordoned):
            self.folder.cluster_note.unlink(missing_ok=True)

    def node_of(self, component: str) -> str:
        nodes = {node for name, node in self._nodes if name == component}
        return nodes.pop() if len(nodes) == 1 else ""

    def _roll_out(self, kubectl: Kubectl, keys: KeyPair, database: Database) -> None:
        """Creates all resources, the data before the components that read them."""
        rollout = Rollout(kubectl, self.interrupts.check)
        every = documents(manifests(self.topology, self.switches, self.options))
        shop = [one for one in every if one["kind"] == "Deployment" and name_of(one) != JAEGER]
        around = [one for one in every if one not in shop]
        (namespace,) = [one for one in around if one["kind"] == "Namespace"]
        secret_resources = secrets(keys, database, self.options)
        kubectl.apply([namespace, *secret_resources, *(one for one in around if one is not namespace)])
        require_usage(kubectl)
        rollout.until_done(JOB, database_limit_s(self.switches))
        # The edge looks up the other components when it starts; a name without a pod stays unknown for a while.
        edge = [one for one in shop if name_of(one) == EDGE]
        for stage in ([one for one in shop if one not in edge], edge):
            if stage:
                kubectl.apply(stage)
                rollout.until_ready([JAEGER, *map(name_of, stage)], READY_LIMIT_S)
        self._await_routes(kubectl)
        self._look_after(pod for pod in kubectl.get("pods")["items"] if is_ready(pod))

    def _await_routes(self, kubectl: Kubectl) -> None:
        """Waits until callers reach their callees: nodes and name servers learn of a pod a moment after it is ready."""
        for caller, called in links(self.topology, self.switches).items():
            program = self.topology.programs.get(caller)
            # The load generators' pods are created later, and a user's image may lack the programs in the command.
            if caller == LOAD or (program is not None and program.image):
                continue
            places = [place for names in called.values() for name in names for place in self.places.endpoints(name)]
            until = [f"until (exec 3<>/dev/tcp/{place.host}/{place.port}) 2>&-; do sleep 0.1; done" for place in places]
            # Network policies block calls to all components other than these callees.
            command = ("timeout", f"{ROUTES_LIMIT_S:g}", "bash", "-c", "; ".join(until))
            try:
                kubectl.execute(f"deployment/{caller}", caller, *command, limit_s=ROUTES_LIMIT_S + 10)
            except ClusterError as error:
                raise StartError(
                    f"{caller} does not reach {', '.join(map(str, places))}, though their pods are ready: {error}. "
                    "Check the cluster's name server, and network policies that the run did not create."
                ) from error

    def _database_in_cluster(self) -> Database:
        """The database, at the address by which pods reach it."""
        if self.database.embedded:
            return own_database(superuser_password(self.folder), self.places)
        host = urlsplit(self.database.admin_url).hostname or ""
        if host == "localhost" or host.startswith("127.") or host == "::1":
            raise InputError(
                f"DATABASE_URL: in a pod, {host} is the pod itself. Name the server by an address that this machine "
                "and the pods both reach."
            )
        require_external(self.database)
        return self.database

    @property
    def target_in_cluster(self) -> dict[str, Any]:
        """The target document for the load generators in the cluster."""
        return self._target(KEYS_FOLDER / PRIVATE_KEY, self.places)

    def _target(self, private_key: Path, places: Places) -> dict[str, Any]:
        return target_document(self.topology, self.switches, self.trial, places, private_key, ca_certificate=None)

    def _forwards(self) -> list[tuple[str, str]]:
        """The cluster's ports that this machine needs, each with its service."""
        entrances = [EDGE] if self.switches.has_edge else [*self.topology.gateways]
        store = [(POSTGRES, POSTGRES)] if self.database.embedded else []
        traces = [(JAEGER, "jaeger-query-http"), (JAEGER, "jaeger-metrics")]
        return [*store, *traces, *((name, name) for name in entrances)]

    def _forward(self, service: str, name: str) -> Component:
        # A process for each port: with several ports, kubectl would continue even if some are taken.
        port = f"{self.ports[name]}:{self.places.listens(name).port}"
        command = self.kubectl.command("port-forward", "--address=127.0.0.1", f"service/{service}", port)
        # kubectl finds its context and credentials through environment variables that only kubectl knows.
        return Component(f"{name}-forward", argv=lambda: command, env=self._environ, ready=accepts(self.ports[name]))

    def _keep_earlier_note(self) -> None:
        """Keeps the note of what could not be removed; `make clean` tries again."""
        note = self.folder.cluster_note
        if note.exists():
            note.rename(note.with_name(f"namespace-before-{self.options.run}.json"))

    def _write_note(self) -> None:
        """Notes what the next run must undo if this run cannot."""
        cordoned = {"cordoned": self._cordoned} if self._cordoned else {}
        made = {"context": self.kubectl.context, "namespace": self.namespace, **cordoned}
        write_json(self.folder.cluster_note, made)

    def _pods_of(self, components: Collection[str]) -> list[Resource]:
        """The ready pods of some components, without terminating pods."""
        return [
            pod
            for pod in self.kubectl.get("pods")["items"]
            if _component_of(pod) in components and is_ready(pod) and "deletionTimestamp" not in pod["metadata"]
        ]

    def _look_after(self, pods: Iterable[Resource]) -> None:
        """Watches these pods: from now on, the run ends if one of them ends."""
        for pod in pods:
            self._ready.add(name_of(pod))
            self._nodes.add((_component_of(pod), pod["spec"]["nodeName"]))

    def _lost(self) -> list[ComponentDiedError]:
        """Errors for the pods that have ended, begun to terminate, or stopped accepting calls since the run began."""
        pods = [pod for pod in self.kubectl.get("pods")["items"] if name_of(pod) in self._ready]
        rollout = Rollout(self.kubectl, self.interrupts.check)
        known = [*causes(pods), *find_restarts(pods)]
        dead = [ComponentDiedError(cause.pod, rollout.explain(cause)) for cause in known]
        lost = {
            **{name_of(pod): UNREADY for pod in pods if not is_ready(pod)},
            **{name_of(pod): "being deleted" for pod in pods if "deletionTimestamp" in pod["metadata"]},
            **dict.fromkeys(sorted(self._ready - set(map(name_of, pods))), "gone"),
        }
        for name, what in lost.items():
            if name not in {cause.pod for cause in known}:
                unsaid = "the cluster does not say why" if what == UNREADY else "somebody may have deleted it"
                why = rollout.warning(name) or unsaid
                dead.append(ComponentDiedError(name, f"{name} is {what}: {why}"))
        return dead

    def _keep_logs(self) -> None:
        """Fetches the logs of all pods, and the edge's access log once it is complete."""
        with contextlib.suppress(MeshError):
            for pod in self.kubectl.get("pods")["items"]:
                name = name_of(pod)
                log = self.kubectl.ask("logs", name, "--all-containers", "--prefix")
                (self.logs / f"{name}.log").write_text(log.stdout)
                if self.switches.has_edge and _component_of(pod) == EDGE:
                    time.sleep(FLUSH_S)
                    self.kubectl.fetch(name, EDGE, str(EDGE_LOG), self.logs / ACCESS_LOG)


def remove_leftover(note: Path, environ: Mapping[str, str]) -> None:
    """Removes the namespace that an earlier run could not remove, and uncordons the node that it left cordoned.

    If that fails, the note of both stays, and the user gets the commands.
    """
    try:
        left = json.loads(note.read_text())
    except (OSError, ValueError):
        return
    context, namespace, node = left["context"], left["namespace"], left.get("cordoned", "")
    if node:
        print(f"Uncordoning the node {node}, which an earlier run left cordoned.", file=sys.stderr)
    print(f"Removing the namespace {namespace}, which an earlier run left behind.", file=sys.stderr)
    try:
        kubectl = replace(Kubectl.current(environ), context=context)
    except MeshError as error:
        commands = [*([f"uncordon {node}"] if node else []), f"delete namespace {namespace}"]
        _report_left(context, dict.fromkeys(commands, str(error)))
        return
    if _undo(kubectl, namespace, node):
        note.unlink(missing_ok=True)


def _undo(kubectl: Kubectl, namespace: str, node: str) -> bool:
    """Uncordons a node, if one is named, and removes a namespace; reports failures, and returns whether all worked."""
    kubectl = replace(kubectl, namespace=None)
    failed: dict[str, str] = {}
    try:
        if node:
            kubectl.run("uncordon", node)
    except ClusterError as error:
        if "(NotFound)" not in str(error):  # a node that is gone is not cordoned
            failed[f"uncordon {node}"] = str(error)
    try:
        kubectl.run("delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
        # No clients are left, so the pods need no grace period.
        kubectl.within(namespace).run("delete", "pods", "--all", "--grace-period=1", "--wait=false")
        limit = f"--timeout={DELETE_LIMIT_S:g}s"
        kubectl.run("wait", "--for=delete", f"namespace/{namespace}", limit, limit_s=DELETE_LIMIT_S + 10)
    except ClusterError as error:
        failed[f"delete namespace {namespace}"] = _why_left(kubectl, namespace) or str(error)
    _report_left(kubectl.context, failed)
    return not failed


def _report_left(context: str, failed: Mapping[str, str]) -> None:
    """Prints commands that are still needed, each with the reason why it failed."""
    for command, why in failed.items():
        print(f"This failed, and is still needed: kubectl --context={context} {command} ({why})", file=sys.stderr)


def _component_of(pod: Resource) -> str:
    return str(pod["metadata"]["labels"].get("app.kubernetes.io/name", ""))


def _why_left(kubectl: Kubectl, namespace: str) -> str:
    """Why a namespace is not deleted yet; empty if the cluster does not say."""
    try:
        conditions = kubectl.get("namespace", namespace)["status"].get("conditions", [])
    except ClusterError:
        return ""
    return "; ".join(condition["message"] for condition in conditions if condition["status"] == "True")
