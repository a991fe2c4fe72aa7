"""The cost of tracing is measured where it arises: on a real system, over the edge, with the spans in a real Jaeger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from experiment.generator.shopload import BINARY, Load, Shopload, Tape, stop
from experiment.proofs.tracing import TAPE_RATE, USERS, WORKLOAD, Bench
from experiment.trial.outcome import JOURNEYS
from hops.budget.parts import budgets_of
from hops.run.rows import read_journeys
from hops.traces.jaeger import read_traces
from mesh.components.database_owner import remove_cluster
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.envoy_config import OTLP_CLUSTER
from mesh.native.system import System
from mesh.paths import RunFolder

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
]


@pytest.fixture(scope="module")
def system(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("run"))
    try:
        with System(load_topology("rest"), Switches(), ports, "t1", folder=folder, environ={}) as running:
            yield running
    finally:
        remove_cluster(folder)


def reads(tmp_path: Path, rate: float) -> Tape:
    path = tmp_path / "tape.jsonl"
    return Shopload(BINARY).tape(WORKLOAD, path, seed=1, rate=rate, duration_s=1.0, scale=1)


def test_traced_reads_leave_spans_of_every_component_and_untraced_ones_none(system: System, tmp_path: Path) -> None:
    bench = Bench(system, Shopload(BINARY), Load(reads(tmp_path, TAPE_RATE), 1.0, USERS), tmp_path)
    untraced = bench.run(trace=0)
    traced = bench.run(trace=1)
    spans = bench.spans()
    assert (untraced.spans, untraced.lost, traced.lost) == (0, 0, 0)
    assert {"client", "edge", "product"} <= spans.keys()
    assert traced.spans >= traced.requests * (sum(spans.values()) - 1)
    assert untraced.requests > 0
    assert traced.cpu["product"].all_s >= traced.cpu["product"].main_s > 0


def test_spans_that_the_edge_cannot_send_are_missed(system: System, tmp_path: Path) -> None:
    file = system.folder.config / "envoy.yaml"
    config = yaml.safe_load(file.read_text())
    (collector,) = (one for one in config["static_resources"]["clusters"] if one["name"] == OTLP_CLUSTER)
    (instance,) = collector["load_assignment"]["endpoints"][0]["lb_endpoints"]
    instance["endpoint"]["address"]["socket_address"]["port_value"] = 9  # where nothing listens
    file.write_text(yaml.safe_dump(config))
    system.restart("edge")
    shopload, tape = Shopload(BINARY), reads(tmp_path, 20)
    replay = shopload.start_replay(Load(tape, 1.0), system.target, tmp_path, trace=1)
    try:
        shopload.finish_replay(replay)
    finally:
        stop(replay)
    journeys = read_journeys(tmp_path / JOURNEYS)
    assert set(journeys["outcome"]) == {"ok"}
    traces = read_traces(system.ports.url("jaeger-query-http"), journeys["trace_id"], patience_s=1).traces
    _, quality = budgets_of(traces.values())
    assert quality.missing_servers >= tape.journeys
