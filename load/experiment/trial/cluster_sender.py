"""Sends a load to a system in a cluster, from the pods of an indexed job, each with a shard of the tape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from experiment.generator.nodes import ShardedReplay, node_arguments
from experiment.generator.shopload import Load, Shopload
from experiment.trial.outcome import JOURNEYS
from experiment.trial.pod_resources import PodSampler, rename
from experiment.trial.resources import CLIENT, Resources
from hops.run.rows import read_rows
from mesh.errors import ClusterError
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.machines import machine_times
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.kubernetes.cluster.system import LOOK_EVERY_S, ClusterSystem
from mesh.kubernetes.cluster.usage import usage_source
from mesh.kubernetes.manifests.load import OUT, TAPE, TARGET, LoadJob, load_document
from mesh.kubernetes.manifests.policies import LOAD

RUNNING_LIMIT_S = 120.0
POLL_S = 2.0
INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class PodNode:
    """A load node in a pod."""

    kubectl: Kubectl
    pod: str

    @property
    def name(self) -> str:
        return self.pod

    def read(self, file: str) -> str | None:
        # An empty answer means that the file does not exist: these files are never empty.
        return self._run(f"cat {OUT}/{file} 2>/dev/null || true") or None

    def write(self, file: str, text: str) -> None:
        self.put(f"{OUT}/{file}", text)

    def put(self, path: str, text: str) -> None:
        """Writes a file in the pod, completely or not at all."""
        self._run(f"cat > {path}.part && mv {path}.part {path}", stdin=text)

    def clock_ns(self) -> int:
        return int(self._run("date +%s%N"))

    def fetch(self, files: Sequence[str], folder: Path) -> None:
        for file in files:
            self.kubectl.fetch(self.pod, LOAD, f"{OUT}/{file}", folder / file)

    def check(self) -> None:
        """Does nothing: the system watches the pod."""

    def _run(self, script: str, stdin: str | None = None) -> str:
        return self.kubectl.execute(self.pod, LOAD, "sh", "-c", script, stdin=stdin)


@dataclass(frozen=True, slots=True)
class ClusterSender:
    """Sends loads from pods of the system's namespace; the generator on this machine merges their results."""

    system: ClusterSystem
    shopload: Shopload
    meanwhile: Callable[[], None] = lambda: None

    def warm_up(self, load: Load, out: Path) -> None:
        out.mkdir(parents=True)
        with self._nodes(load, "load-warmup", trace=0) as replay:
            replay.send(self.system.check)

    def replay(self, load: Load, out: Path) -> Resources:
        kubectl = self.system.kubectl
        source = usage_source(kubectl)
        with self._nodes(load, LOAD, trace=self.system.switches.trace) as replay:
            with PodSampler(
                lambda: rename(source.look(), {LOAD: CLIENT}),
                lambda: machine_times(kubectl, self.system.options.images),
                source.name,
                interval_s=LOOK_EVERY_S,
            ) as sampler:
                replay.send(self.system.check, at_the_ends=lambda: self._look(sampler), meanwhile=self.meanwhile)
            replay.collect(out)
        first, last = read_rows(out / JOURNEYS).select(pl.col("started_ns").min(), pl.col("ended_ns").max()).row(0)
        return sampler.during(int(first), int(last))

    def _look(self, sampler: PodSampler) -> None:
        """Takes a sample now, when that disturbs nothing, so that no sample is taken during a short load."""
        sampler.look()
        self.system.check_now()

    @contextmanager
    def _nodes(self, load: Load, job: str, *, trace: float) -> Iterator[ShardedReplay]:
        """Starts load nodes, and yields their replay when the nodes are ready; removes the nodes' job afterwards."""
        system, count = self.system, self.system.switches.load_nodes
        arguments = node_arguments(
            load,
            tape=PurePosixPath(TAPE),
            target=PurePosixPath(TARGET),
            out=PurePosixPath(OUT),
            # Kubernetes inserts each pod's index.
            shard="$(JOB_COMPLETION_INDEX)",
            shards=count,
            trace=trace,
        )
        system.kubectl.apply([load_document(LoadJob(job, count, arguments, load.duration_s), system.options)])
        Rollout(system.kubectl, system.check).until_running(job, RUNNING_LIMIT_S)
        nodes = self._pods(job, count)
        tape, target = load.tape.path.read_text(encoding="utf-8"), json.dumps(system.target_in_cluster)
        with system.watching(node.pod for node in nodes):
            for node in nodes:
                node.put(TARGET, target)
                node.put(TAPE, tape)
            replay = ShardedReplay(nodes, load, self.shopload, poll_s=POLL_S)
            replay.get_ready()
            yield replay
        system.kubectl.run("delete", "job", job, "--wait=false")

    def _pods(self, job: str, count: int) -> list[PodNode]:
        pods = self.system.kubectl.get("pods", f"--selector=batch.kubernetes.io/job-name={job}")["items"]
        by_index = {int(pod["metadata"]["annotations"][INDEX]): pod["metadata"]["name"] for pod in pods}
        if sorted(by_index) != list(range(count)):
            raise ClusterError(f"the job {job} has pods for the shards {sorted(by_index)} instead of 0 to {count - 1}")
        return [PodNode(self.system.kubectl, by_index[index]) for index in range(count)]
