"""Traces queried from Grafana Tempo 3. `TEMPO_BIN` is the path of its program; without it, these tests are skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from trace_backends import PORT_BASE, Component, a_look_at_a_product, read_when_whole, running, says_yes

from hops.budget.any_system import budget_of_any, tree_of
from hops.sources.query import Query
from hops.sources.trace_set import read_sources

pytestmark = pytest.mark.timeout(90)

HTTP, GRPC, OTLP, MEMBERS = (PORT_BASE + offset for offset in (80, 81, 82, 83))
CONFIG = f"""
server:
  {{http_listen_address: 127.0.0.1, http_listen_port: {HTTP}, grpc_listen_address: 127.0.0.1, grpc_listen_port: {GRPC}}}
memberlist: {{bind_addr: [127.0.0.1], bind_port: {MEMBERS}, advertise_addr: 127.0.0.1}}
distributor: {{receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{OTLP}"}}}}}}}}}}
live_store: {{wal: {{path: live}}, shutdown_marker_dir: stopped}}
backend_scheduler: {{local_work_path: work}}
storage: {{trace: {{backend: local, wal: {{path: wal}}, local: {{path: blocks}}}}}}
usage_report: {{reporting_enabled: false}}
"""
AGO_NS = 120 * 10**9
"""Tempo's searches leave out traces that began within the last half minute."""


@pytest.fixture(scope="module")
def tempo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = os.environ.get("TEMPO_BIN", "")
    if not binary:
        pytest.skip("there is no Tempo: let TEMPO_BIN name its program")
    folder = tmp_path_factory.mktemp("tempo")
    config = folder / "tempo.yaml"
    config.write_text(CONFIG)
    url = f"http://127.0.0.1:{HTTP}"
    with running([Path(binary), f"-config.file={config}"], partial(says_yes, f"{url}/ready"), folder / "tempo.log"):
        yield url


def test_a_query_by_address_gives_whole_traces(tempo: str) -> None:
    client, product = (Component(name, f"127.0.0.1:{OTLP}") for name in ("client", "product"))
    began = (time.time_ns() - AGO_NS) // 1000 * 1000 + 123
    root, wanted = a_look_at_a_product(client, product, began)
    trace_id = root.trace_id.hex()
    query = Query(service="product", operation="GetProduct", since_ns=began - 10**9, limit=5)
    read = read_when_whole(tempo, query, root, limit_s=30)
    assert [one.refused for one in read.inputs] == [""]
    assert dict(budget_of_any(tree_of(read.traces[trace_id])).parts) == wanted

    assert read_sources([tempo], query=Query(trace_ids=(trace_id,))).traces == read.traces
    in_json = read_sources([f"{tempo}/api/traces/{trace_id}"])
    assert in_json.traces == read.traces
    assert not read_sources([tempo], query=Query(service="shop", since_ns=began)).traces
