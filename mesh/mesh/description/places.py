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
    """Knows where everything is. Names are those of the ports file, such as `product-grpc` or `jaeger-otlp-grpc`."""

    def listens(self, name: str, replica: int = 1) -> Place:
        """Where a process itself listens.

        Args:
            name: Name of the port.
            replica: Which of the component's processes it is, from 1; natively each has an address of its own.
        """

    def reached(self, name: str) -> Sequence[Place]:
        """Where its callers find it; more than one place if they share their calls out among several."""
