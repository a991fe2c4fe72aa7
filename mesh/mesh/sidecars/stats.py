"""What the sidecars say of themselves while they run: configuration refused, TLS handshakes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mesh.ports import Ports
from mesh.sidecars.workloads import Workload

LIMIT_S = 2.0
FILTER = "(update_rejected|ssl.handshake)$"


@dataclass(frozen=True)
class SidecarFacts:
    """What the sidecars of a run say together.

    Attributes:
        refused: Updates of clusters, listeners, routes or certificates that a sidecar refused.
        unencrypted: Sidecars that serve and saw no TLS handshake; None without mTLS.
        silent: Sidecars that did not answer.
    """

    refused: int
    unencrypted: int | None
    silent: int


def read_facts(workloads: Sequence[Workload], ports: Ports, *, encrypted: bool) -> SidecarFacts:
    """Ask every sidecar.

    Args:
        workloads: The workloads of the mesh.
        ports: Ports of the run.
        encrypted: Whether the sidecars use TLS.
    """
    counters = {workload: _counters(workload.address, ports["sidecar-admin"]) for workload in workloads}
    answered = {workload: found for workload, found in counters.items() if found is not None}
    refused = sum(
        value for found in answered.values() for name, value in found.items() if name.endswith(".update_rejected")
    )
    serving = [(workload, found) for workload, found in answered.items() if workload.inbound]
    unencrypted = sum(1 for workload, found in serving if not _handshakes(workload, found))
    return SidecarFacts(refused, unencrypted if encrypted else None, len(counters) - len(answered))


def _handshakes(workload: Workload, counters: Mapping[str, int]) -> int:
    return sum(
        value
        for name, value in counters.items()
        if name.startswith(f"listener.{workload.address}_") and name.endswith(".ssl.handshake")
    )


def _counters(address: str, port: int) -> dict[str, int] | None:
    connection = http.client.HTTPConnection(address, port, timeout=LIMIT_S)
    try:
        connection.request("GET", f"/stats?format=json&filter={FILTER}")
        stats = json.loads(connection.getresponse().read())["stats"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
    return {item["name"]: int(item["value"]) for item in stats if "value" in item}
