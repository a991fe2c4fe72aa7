"""The load generators in a cluster: the pods of an indexed job, each with its shard of one tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mesh.components.keys import PRIVATE_KEY
from mesh.kubernetes.manifests.deployment import (
    Document,
    Size,
    Workload,
    container,
    document,
    pod_template,
    select_pods,
)
from mesh.kubernetes.manifests.policies import LOAD
from mesh.kubernetes.manifests.secrets import KEYS, KEYS_MOUNT, secret_volume
from mesh.kubernetes.options import ClusterOptions

FOLDER = "/var/lib/hopwise"
TAPE, TARGET, OUT = f"{FOLDER}/tape.jsonl", f"{FOLDER}/target.json", f"{FOLDER}/out"
"""Files that a generator waits for, and the folder of its results."""
CPU_M, MIN_CPU_M = 500, 100
"""CPU requests in thousandths of a processor: of all generators together, and the minimum of each generator."""
EXTRA_S = 600
"""How long a generator may live in addition to its load, in seconds: for its start, the wait for the other generators,
and the collection of its results."""


@dataclass(frozen=True)
class LoadJob:
    """The job of a number of load generators; `duration_s` is the length of the load, in seconds."""

    name: str
    nodes: int
    arguments: Sequence[str]
    duration_s: float


def load_document(job: LoadJob, options: ClusterOptions) -> Document:
    """The job; its pods wait for their tape and target."""
    generator = container(
        LOAD,
        options.image("shopload"),
        options,
        # The CPU request is larger than any component's: a generator that waits for a processor measures its own wait.
        Size(cpu=f"{max(MIN_CPU_M, CPU_M // job.nodes)}m", max_memory="1Gi"),
        mounts=[KEYS_MOUNT, {"name": "data", "mountPath": FOLDER}],
        args=list(job.arguments),
    )
    workload = Workload(
        LOAD,
        [generator],
        volumes=[secret_volume(KEYS, PRIVATE_KEY), {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}],
        sidecar=False,
    )
    # Generators run on different nodes if there are enough nodes.
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": select_pods(LOAD),
    }
    spec = {
        "completionMode": "Indexed",
        "completions": job.nodes,
        "parallelism": job.nodes,
        "backoffLimit": 0,
        "activeDeadlineSeconds": round(job.duration_s) + EXTRA_S,
        "template": pod_template(workload, options, restartPolicy="Never", topologySpreadConstraints=[spread]),
    }
    return document("Job", "batch/v1", job.name, options, of=LOAD, spec=spec)
