"""The edge's access log, which confirms the traces: a JSON object for each request.

`mesh/mesh/edge/templates/envoy.yaml` and `mesh/mesh/edge/templates/kong/edge.lua` define its fields.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hops.gates.edge_agreement import LoggedRequest
from hops.run.rows import AT_EDGE


def read_edge_log(path: Path, trace_ids: Collection[str]) -> list[LoggedRequest]:
    """Reads the requests of traces from the log of a stopped edge; a running edge buffers the last lines."""
    wanted = frozenset(trace_ids)
    requests = []
    # Clients may send any byte in a path or a header.
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # the edge was killed while writing; the request counts as not logged
            request: dict[str, Any] = json.loads(line)
            # `00-<trace id>-<span id>-<flags>`; null for requests without the header, such as health checks.
            fields = (request["traceparent"] or "").split("-")
            if len(fields) == 4 and fields[1] in wanted:
                times = request["duration_ns"], request["sending_ns"] or 0, request["behind_ns"]
                requests.append(LoggedRequest(fields[1], fields[2], *times))
    return requests


def at_edge(journeys: pl.DataFrame, logged: Sequence[LoggedRequest] | None) -> pl.DataFrame:
    """Adds each journey's time at the edge, and the part of it spent behind the edge (`hops.run.rows.AT_EDGE`).

    Both are null without an edge, if the log has no requests of the journey, or if it lacks the times of a request.
    """
    rows = [(line.trace_id, line.duration_ns, line.behind_ns) for line in logged or ()]
    log = pl.DataFrame(rows, schema=pl.Schema([("trace_id", pl.String()), *AT_EDGE.items()]), orient="row")
    whole = {name: pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()) for name in AT_EDGE}
    return journeys.join(log.group_by("trace_id").agg(**whole), on="trace_id", how="left", maintain_order="left")
