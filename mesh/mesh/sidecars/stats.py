"""Statistics of running sidecars: refused configuration updates, and TLS handshakes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mesh.sidecars.workloads import Workload
from mesh.supervisor.readiness import UnixConnection

LIMIT_S = 2.0
STATS = "stats?format=json&filter=(update_rejected|ssl.handshake)$"
"""The query to Envoy's admin page."""


@dataclass(frozen=True)
class SidecarFacts:
    """Totals over the sidecars of a run.

    Attributes:
        refused: Updates of clusters, listeners, routes or certificates that a sidecar refused.
        unencrypted: Sidecars that serve callers but counted no TLS handshake; None without mTLS.
        silent: Sidecars that did not answer.
    """

    refused: int
    unencrypted: int | None
    silent: int


@dataclass(frozen=True)
class Answer:
    """The answer of one sidecar.

    Attributes:
        counters: The sidecar's counters, by name; None if it did not answer.
        listener: The first part of the counters' names, for the listener that callers reach; None for a sidecar that
            serves no callers.
    """

    counters: Mapping[str, int] | None
    listener: str | None

    @property
    def handshakes(self) -> int:
        """TLS handshakes with the sidecar's callers."""
        return sum(
            value
            for name, value in (self.counters or {}).items()
            if name.startswith(f"listener.{self.listener}") and name.endswith(".ssl.handshake")
        )


def facts_of(answers: Sequence[Answer], *, encrypted: bool) -> SidecarFacts:
    """The totals over all sidecars."""
    answering = [answer for answer in answers if answer.counters is not None]
    counters = [item for answer in answering for item in (answer.counters or {}).items()]
    unencrypted = sum(1 for answer in answering if answer.listener is not None and not answer.handshakes)
    return SidecarFacts(
        refused=sum(value for name, value in counters if name.endswith(".update_rejected")),
        unencrypted=unencrypted if encrypted else None,
        silent=len(answers) - len(answering),
    )


def read_facts(workloads: Sequence[Workload], *, encrypted: bool) -> SidecarFacts:
    """Asks every sidecar, and returns the totals."""
    pages = [(one, admin_page(one.admin, f"/{STATS}", LIMIT_S)) for one in workloads]
    answers = [Answer(counters_of(page or ""), f"{one.address}_" if one.inbound else None) for one, page in pages]
    return facts_of(answers, encrypted=encrypted)


def counters_of(text: str) -> dict[str, int] | None:
    """The counters in Envoy's answer to `/stats?format=json`; None if the answer has another form."""
    try:
        return {item["name"]: int(item["value"]) for item in json.loads(text)["stats"] if "value" in item}
    except (ValueError, KeyError):
        return None


def admin_page(admin: Path, path: str, limit_s: float) -> str | None:
    """A page of a running sidecar's Envoy; None if the sidecar does not answer, or not with this page."""
    connection = UnixConnection(admin, limit_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read().decode() if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
