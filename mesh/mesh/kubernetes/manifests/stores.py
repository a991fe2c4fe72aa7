"""The bench's stores: PostgreSQL, the job that loads its data, and Jaeger."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from mesh.components.jaeger import JAEGER, jaeger_environment, jaeger_ports
from mesh.components.postgres import INITDB, POSTGRES, SETTINGS
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.ports import HOST, Ports
from mesh.description.switches import Switches
from mesh.kubernetes.manifests.deployment import (
    Document,
    Size,
    Workload,
    container,
    container_ports,
    document,
    labels,
    pod_template,
    probes,
    select_pods,
    service,
)
from mesh.kubernetes.manifests.secrets import (
    ADMIN_PASSWORD,
    ADMIN_URL,
    DATABASE,
    DATABASE_FOLDER,
    DATABASE_MOUNT,
    ROLE_PASSWORDS,
    in_file,
    secret_volume,
)
from mesh.kubernetes.options import ClusterOptions
from mesh.kubernetes.places import EVERYWHERE

JOB = "database"
DATA = "/var/lib/postgresql"
"""Folder of the volume; the data are in a subfolder."""
KEPT_S = 86_400
"""How long a finished migration stays visible, in seconds."""
PUBLIC_PART = r"s#(//[^/:@]*):[^/@]*@#\1@#; s#([?&]password=)[^&]*#\1-#"
"""The sed script that removes the password from a URL. The user stays: otherwise libpq looks for the name of the
container's user, who has no name."""
HBA = Path("/etc/postgresql/pg_hba.conf")
# TYPE DATABASE USER ADDRESS METHOD
HBA_RULES = "host all all all scram-sha-256\n"


def initdb(password: str) -> str:
    """The shell command that creates the data if they are missing; `password` is a file."""
    made = f"{DATA}/data"
    # The data are put in place only when complete, so an interrupted start is repeated.
    return (
        f"[ -d {made} ] || {{ rm -rf {made}.new && "
        f"initdb -D {made}.new --pwfile={password} {' '.join(INITDB)} && mv {made}.new {made}; }}"
    )


def server_options(port: int) -> list[str]:
    """The server's options: the same as in a native run, but with an address that other pods can reach."""
    settings = {**SETTINGS, "listen_addresses": EVERYWHERE, "port": str(port), "hba_file": str(HBA)}
    return ["-D", f"{DATA}/data", *(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))]


def is_ready(host: str, port: int) -> list[str]:
    """The command that checks whether the server accepts connections."""
    return ["pg_isready", "--quiet", f"--host={host}", f"--port={port}"]


def postgres(options: ClusterOptions) -> list[Document]:
    """PostgreSQL with the settings of a native run."""
    port = options.places.ports[POSTGRES]
    size = Size(memory="256Mi", max_memory="1Gi", max_storage="16Gi")
    data = {"name": "data", "mountPath": DATA}
    server = container(
        POSTGRES,
        options.image("postgres"),
        options,
        size,
        mounts=[data, {"name": "config", "mountPath": str(HBA.parent), "readOnly": True}],
        args=server_options(port),
        ports=container_ports({port: "tcp"}),
        # Starting a program in the container every few seconds would disturb the measurement on a small node.
        **probes({"tcpSocket": {"port": port}}, startup={"exec": {"command": is_ready(HOST, port)}}),
    )
    first = container(
        "initdb",
        options.image("postgres"),
        options,
        size,
        mounts=[data, DATABASE_MOUNT],
        command=["sh", "-c", initdb(str(DATABASE_FOLDER / ADMIN_PASSWORD))],
    )
    workload = Workload(
        POSTGRES,
        [server],
        before=[first],
        volumes=[
            {"name": "config", "configMap": {"name": POSTGRES}},
            secret_volume(DATABASE, ADMIN_PASSWORD),
            *([] if options.storage else [{"name": "data", "emptyDir": {}}]),
        ],
        sidecar=False,
    )
    claim = {
        "metadata": {"name": "data", "labels": labels(POSTGRES, options)},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": options.storage}}},
    }
    spec: Document = {
        "serviceName": POSTGRES,
        "replicas": 1,
        "selector": select_pods(POSTGRES),
        "template": pod_template(workload, options),
        **({"volumeClaimTemplates": [claim]} if options.storage else {}),
    }
    return [
        document("ConfigMap", "v1", POSTGRES, options, data={HBA.name: HBA_RULES}),
        service(POSTGRES, {port: "tcp"}, options, clusterIP="None"),
        document("StatefulSet", "apps/v1", POSTGRES, options, spec=spec),
    ]


def database_limit_s(switches: Switches) -> int:
    """How long the job may take, in seconds: its image may have to be pulled, and more data take longer to create."""
    return 180 + 70 * switches.scale


def database_job(switches: Switches, options: ClusterOptions) -> Document:
    """The job that makes the seeded template if it is missing, then a fresh copy for a trial."""
    command = ["python", "-m", "dataset", "prepare", "--trial", TRIAL_DATABASE]
    command += ["--scale", str(switches.scale), "--seed", str(options.seed)]
    # Without a run, somebody applies the manifests, and the new pods may be connected before this job.
    command += [] if options.run else ["--cut"]
    # The caller that waits for the job gives up first, and reports the reason.
    spec = _database_spec(command, database_limit_s(switches) + 120, options)
    return document("Job", "batch/v1", JOB, options, spec=spec)


def migration_job(options: ClusterOptions) -> Document:
    """The job that migrates a managed database to the newest schema, and keeps its rows.

    A job is immutable. Its name therefore contains a digest of its content, and each version of the shop has a separate
    job.
    """
    spec = _database_spec(["python", "-m", "shop.database", "migrate"], 600, options)
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:10]
    kept = {"ttlSecondsAfterFinished": KEPT_S, **spec}
    return document("Job", "batch/v1", f"{JOB}-{digest}", options, of=JOB, spec=kept)


def _database_spec(command: list[str], limit_s: int, options: ClusterOptions) -> Document:
    """The specification of a job that runs a command as the database's administrator, once the server answers.

    The check for an answer runs without the password: the node's other users see a command's arguments.
    """
    address = f"sed -E '{PUBLIC_PART}' {DATABASE_FOLDER / ADMIN_URL}"
    asked = f'until pg_isready --dbname="$({address})"; do sleep 0.5; done'
    waiting = container(
        "await-server",
        options.image("postgres"),
        options,
        Size(cpu="10m", memory="16Mi", max_memory="64Mi"),
        mounts=[DATABASE_MOUNT],
        command=["sh", "-c", asked],
    )
    doing = container(
        JOB,
        options.image("shop"),
        options,
        Size(max_memory="1Gi"),
        mounts=[DATABASE_MOUNT],
        command=command,
        env=[in_file("SHOP_ADMIN_URL", ADMIN_URL), in_file("SHOP_ROLE_PASSWORDS", ROLE_PASSWORDS)],
    )
    volumes = [secret_volume(DATABASE, ADMIN_URL, ROLE_PASSWORDS)]
    workload = Workload(JOB, [doing], before=[waiting], volumes=volumes, sidecar=False)
    return {
        "backoffLimit": 2,
        "activeDeadlineSeconds": limit_s,
        "template": pod_template(workload, options, restartPolicy="Never"),
    }


def jaeger(options: ClusterOptions) -> Workload:
    """Jaeger, which keeps the traces in memory."""
    ports = options.places.ports
    settings = jaeger_environment(options.places, ports.offsets)
    main = container(
        JAEGER,
        options.image(JAEGER),
        options,
        Size(memory="256Mi", max_memory="2Gi"),
        env=[{"name": name, "value": value} for name, value in settings.items()],
        ports=container_ports(jaeger_service_ports(ports)),
        **probes({"httpGet": {"path": "/status", "port": ports["jaeger-health"]}}),
    )
    return Workload(JAEGER, [main], sidecar=False)


def jaeger_service_ports(ports: Ports) -> dict[int, str]:
    """Jaeger's ports, each with its protocol."""
    return {ports[name]: "grpc" if name.endswith("grpc") else "http" for name in jaeger_ports(ports)}
