"""Where the parts of a run are reached: on this machine's ports, or as services of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Place:
    """A TCP address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_numeric(self) -> bool:
        """Whether the host is an IPv4 address, and not a name that must be looked up."""
        return all(part.isdigit() for part in self.host.split("."))

    @property
    def url(self) -> str:
        """`http://host:port`."""
        return f"http://{self}"


class Places(Protocol):
    """Addresses of everything in a run. Names are from the ports file, such as `product-grpc` or `jaeger-otlp-grpc`."""

    def listens(self, name: str, replica: int = 1) -> Place:
        """Where a process itself listens; on this machine, each replica (from 1) has its own address."""

    def endpoints(self, name: str) -> Sequence[Place]:
        """The places that a port's callers use; several if callers balance their calls."""
