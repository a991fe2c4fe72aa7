"""Prometheus, which monitors a run: its scrape jobs and its alert rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mesh.description.places import Place, Places
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology, metrics_port
from mesh.envoy_config import METRICS_PATH
from mesh.paths import ALERT_RULES, RunFolder
from mesh.sidecars.workloads import Workload
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import http_ok

PROMETHEUS = "prometheus"
SCRAPE_INTERVAL_S = 5
"""Interval between two scrapes of a component, and between two evaluations of the rules, in seconds."""
PART_OF = {"part_of": "hopwise"}
"""The label of everything in the shop: a cluster's Prometheus monitors other systems too."""


SIDECAR_STATISTICS = "|".join(
    (
        r"^(cluster|http)\.(in|out)bound(.*;|[^.]*)\.("
        r"(downstream|upstream)_rq_(\dxx|time)|upstream_rq_(retry|timeout|pending_overflow)|upstream_cx_connect_fail|"
        r"outlier_detection\.ejections_active|rbac\.denied)$",
        r"^server\.(days_until_first_cert_expiring|memory_allocated)$",
    )
)
"""Names of the statistics scraped from a sidecar: Envoy has several hundred for each service that it calls."""


def prometheus_component(
    program: Path, folder: RunFolder, ports: Ports, jobs: Sequence[Mapping[str, Any]]
) -> Component:
    """What to run for Prometheus; writes its configuration into the run's folder."""
    file = folder.config / "prometheus.yaml"
    file.write_text(config_of(jobs, ALERT_RULES))
    argv = [str(program), *options(file, folder.prometheus, ports.listens(PROMETHEUS))]
    return Component(PROMETHEUS, argv=lambda: argv, ready=http_ok(ports[PROMETHEUS], "/-/ready"), stop_rank=STORE_RANK)


def options(config: Path, data: Path, listens: Place) -> list[str]:
    """Prometheus' options: its configuration, its data folder, and the address that it listens on."""
    return [
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address={listens}",
        # Keeps exemplars, which link a latency to its traces.
        "--enable-feature=exemplar-storage",
        "--log.level=warn",
    ]


def config_of(jobs: Sequence[Mapping[str, Any]], rules: Path) -> str:
    """Prometheus' configuration: the scrape jobs and the file of the rules."""
    every = f"{SCRAPE_INTERVAL_S}s"
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(rules)],
        "scrape_configs": list(jobs),
    }
    return yaml.safe_dump(config, sort_keys=False)


def jobs_of(
    topology: Topology,
    switches: Switches,
    measured: Mapping[str, Sequence[Place]],
    places: Places,
    workloads: Sequence[Workload] = (),
    exporters: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The scrape jobs, one for each component and named after it.

    Args:
        measured: Where each component of the shop exposes its metrics, one place for each of its processes.
        places: Where the other components are reached.
        workloads: The components that have sidecars.
        exporters: Names of the exporters' components.
    """
    edge = {EDGE: ("/metrics" if switches.edge == "kong" else METRICS_PATH, places.endpoints(metrics_port(EDGE)))}
    asked = {
        **{name: ("/metrics", listed) for name, listed in measured.items()},
        **(edge if switches.has_edge else {}),
        **{name: ("/metrics", places.endpoints(metrics_port(name))) for name in exporters},
        "jaeger": ("/metrics", places.endpoints("jaeger-metrics")),
        **({"istiod": ("/metrics", places.endpoints("istiod-http"))} if switches.mesh == "istio" else {}),
    }
    entered = topology.behind_edge
    # The label `entered`: whether clients reach the component, so that the alert rules count its answers.
    jobs = [_job(name, path, at, {"entered": str(name in entered).lower()}) for name, (path, at) in asked.items()]
    return [*jobs, *_sidecar_jobs(workloads)]


def _sidecar_jobs(workloads: Sequence[Workload]) -> list[dict[str, Any]]:
    """A scrape job for the sidecars of each component; the job's series carry the component's name too."""
    beside: dict[str, list[Workload]] = {}
    for workload in workloads:
        beside.setdefault(workload.component, []).append(workload)
    return [
        {
            **_job(group[0].sidecar_component, METRICS_PATH, [one.metrics for one in group], {"component": component}),
            "params": {"usedonly": [""], "filter": [SIDECAR_STATISTICS]},
        }
        for component, group in beside.items()
    ]


def _job(name: str, path: str, targets: Sequence[Place], labels: Mapping[str, str]) -> dict[str, Any]:
    static = {"targets": [str(place) for place in targets], "labels": {**labels, **PART_OF}}
    return {"job_name": name, "metrics_path": path, "static_configs": [static]}
