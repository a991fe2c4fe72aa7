from __future__ import annotations

import re
from pathlib import Path

import pytest

from mesh.components.exporters import OF_POSTGRES, OF_VALKEY, exporter_component
from mesh.components.postgres import Database
from mesh.components.prometheus import PART_OF, SIDECAR_STATISTICS, jobs_of
from mesh.components.valkey import Cache
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.paths import RunFolder
from mesh.sidecars.workloads import workloads

STATIC, ISTIO = "outbound|18020|stable|product", "outbound|18020||product.mesh.local;"


@pytest.mark.parametrize("cluster", [STATIC, ISTIO, "inbound|18020", "inbound|18020||;"])
def test_statistics_of_forwarded_calls_are_scraped(cluster: str) -> None:
    for name in ("upstream_rq_5xx", "upstream_rq_time", "upstream_rq_retry", "outlier_detection.ejections_active"):
        assert re.search(SIDECAR_STATISTICS, f"cluster.{cluster}.{name}")
    for name in ("internal.upstream_rq_5xx", "upstream_rq_503", "upstream_cx_active", "membership_total"):
        assert not re.search(SIDECAR_STATISTICS, f"cluster.{cluster}.{name}")


def test_statistics_of_a_sidecar_s_own_calls_are_not_scraped() -> None:
    assert re.search(SIDECAR_STATISTICS, "http.inbound_127.0.0.5_18020;.downstream_rq_2xx")
    assert re.search(SIDECAR_STATISTICS, "server.days_until_first_cert_expiring")
    for name in (
        "http.admin.downstream_rq_2xx",
        "http.metrics.downstream_rq_time",
        "cluster.jaeger-otlp.upstream_rq_2xx",
    ):
        assert not re.search(SIDECAR_STATISTICS, name)


def test_sidecars_of_replicas_are_one_job_at_the_ports_of_their_component(tmp_path: Path) -> None:
    switches = parse_switches(metrics="on", mesh="envoy", replicas="product:2")
    topology, ports = load_topology("hybrid"), load_ports({})
    ports = type(ports)(ports.base, ports.offsets, ports.addresses, switches.replicas)
    meshed = workloads(topology, ports, RunFolder.of(ports.base, tmp_path))
    jobs = {job["job_name"]: job for job in jobs_of(topology, switches, {}, ports, meshed, ["postgres-exporter"])}
    (static,) = jobs["product-sidecar"]["static_configs"]
    port = ports["product-metrics"]
    assert static == {
        "targets": [f"127.0.0.5:{port}", f"127.0.1.5:{port}"],
        "labels": {"component": "product", **PART_OF},
    }
    assert jobs["product-sidecar"]["params"] == {"usedonly": [""], "filter": [SIDECAR_STATISTICS]}
    assert jobs["postgres-exporter"]["static_configs"][0]["targets"] == [
        f"127.0.0.1:{ports['postgres-exporter-metrics']}"
    ]


def test_the_caches_password_is_in_the_address_and_not_sent_to_other_targets() -> None:
    ports = load_ports({})
    cache = Cache("valkey://:secret@127.0.0.1:6379/0", embedded=False)
    database = Database("postgresql://postgres:admin@127.0.0.1:5432/postgres", embedded=False)
    exporter = exporter_component(OF_VALKEY, Path("redis_exporter"), database, cache, ports)
    assert exporter.env == {"REDIS_ADDR": "redis://:secret@127.0.0.1:6379/0"}


def test_the_exporter_finds_the_maintenance_database_of_a_url_that_names_none() -> None:
    database = Database("postgresql://me:secret@db.example:5433", embedded=False)
    exporter = exporter_component(OF_POSTGRES, Path("postgres_exporter"), database, None, load_ports({}))
    assert exporter.env["DATA_SOURCE_NAME"].endswith("@db.example:5433/postgres?sslmode=disable")
