"""The edge's access log, as a witness of the traces: a JSON object for each request.

`gateway/envoy/edge.yaml` and `gateway/kong/edge.lua` say what is in it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hops.gates.edge_agreement import LoggedRequest


def read_edge_log(path: Path, trace_ids: Collection[str]) -> list[LoggedRequest]:
    """Reads the requests of some traces.

    Args:
        path: Log of an edge that has stopped: while it runs, it holds the last lines back.
        trace_ids: The traces whose requests to read.
    """
    wanted = frozenset(trace_ids)
    requests = []
    # Clients may send any byte in a path or a header.
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # the edge was killed while it wrote; the request counts as not logged
            request: dict[str, Any] = json.loads(line)
            # `00-<trace id>-<span id>-<flags>`; null for requests that brought none, such as checks of health.
            fields = (request["traceparent"] or "").split("-")
            if len(fields) == 4 and fields[1] in wanted:
                requests.append(LoggedRequest(fields[1], fields[2], request["duration_ns"]))
    return requests
