"""All ports of a run, computed from one base port."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psutil
import yaml

from mesh.description.places import Place
from mesh.description.switch_values import MAX_REPLICAS
from mesh.description.topology import SERVES
from mesh.errors import PortError
from mesh.paths import PORTS_FILE

HOST = "127.0.0.1"
MIN_BASE = 1024
MAX_PORT = 65535


@dataclass(frozen=True)
class Ports:
    """The ports of a run, from a base.

    Args:
        offsets: Distance from the base, by the port's name.
        addresses: Loopback address of each component's sidecar.
        replicas: How many processes a component runs as; components that are not named run as one process.
        is_apart: Whether the ports belong to the separate components that serve one kind of journey only.
    """

    base: int
    offsets: Mapping[str, int]
    addresses: Mapping[str, str] = field(default_factory=dict)
    replicas: Mapping[str, int] = field(default_factory=dict)
    is_apart: bool = False

    @property
    def apart(self) -> Ports:
        """The ports of the separate components that serve one kind of journey only, and that call each other."""
        return replace(self, is_apart=True)

    def __getitem__(self, name: str) -> int:
        return self.base + self.offsets[name]

    def address(self, name: str) -> str:
        """The address `127.0.0.1:port` of a named port."""
        return f"{HOST}:{self[name]}"

    def url(self, name: str) -> str:
        """The URL `http://127.0.0.1:port` of a named port."""
        return f"http://{self.address(name)}"

    def listens(self, name: str, replica: int = 1) -> Place:
        """Where a process on this machine listens, by its port's name."""
        return Place(at_replica(HOST, replica), self[name])

    def endpoints(self, name: str) -> Sequence[Place]:
        """The place of each replica, for its callers."""
        component = next((one for one in SERVES if name == one or name.startswith(f"{one}-")), name)
        return [self.listens(name, replica) for replica in self.replicas_of(component)]

    def replicas_of(self, component: str) -> Sequence[int]:
        """The numbers of a component's replicas, from 1; a separate component's start above the others' maximum."""
        first = MAX_REPLICAS + 1 if self.is_apart and component in SERVES else 1
        return range(first, first + self.replicas.get(component, 1))

    def sidecar_address(self, component: str, replica: int = 1) -> str:
        """Loopback address of a replica's sidecar."""
        return at_replica(self.addresses[component], replica)

    def require_free(self, names: Iterable[str], at: str | None = None, *, udp: bool = False) -> None:
        """Checks that nothing listens on these ports, at an address or at the addresses that callers use.

        Raises:
            PortError: Ports are taken; the message names each taken port, the process that uses it, and what to do.
        """
        places = [
            (name, place)
            for name in names
            for place in (self.endpoints(name) if at is None else [Place(at, self[name])])
        ]
        taken = [(name, place) for name, place in places if not _free(place, udp=udp)]
        if not taken:
            return
        other = self.base + 200 if self.base + 400 <= MAX_PORT else MIN_BASE
        owners, over = _owners(udp=udp), ", UDP" if udp else ""
        lines = [f"  {place} ({name}{over}){owners.get(place.port, '')}" for name, place in taken]
        raise PortError(
            "These ports are in use:\n"
            + "\n".join(lines)
            + f"\nStop the processes that use them, or choose another base: SHOP_PORT_BASE={other} make …"
        )


def at_replica(address: str, replica: int) -> str:
    """The loopback address of a replica, given the first replica's: with `127.0.0.5`, the second has `127.0.1.5`."""
    first, second, third, fourth = address.split(".")
    return f"{first}.{second}.{int(third) + replica - 1}.{fourth}"


def replica_name(component: str, replica: int) -> str:
    """The name of a replica's process and log: `product`, `product-2`; for a separate component `product-apart-2`."""
    if replica > MAX_REPLICAS:
        return replica_name(f"{component}-apart", replica - MAX_REPLICAS)
    return component if replica == 1 else f"{component}-{replica}"


def load_ports(environ: Mapping[str, str]) -> Ports:
    """Reads the ports file, for the base that `SHOP_PORT_BASE` names.

    Raises:
        PortError: The base is not a number, or its range does not fit between 1024 and 65535.
    """
    data = yaml.load(PORTS_FILE.read_text(), Loader=yaml.CSafeLoader)
    highest = MAX_PORT - (data["span"] - 1)
    given = environ.get("SHOP_PORT_BASE") or str(data["default_base"])
    if not (given.isascii() and given.isdigit() and MIN_BASE <= int(given) <= highest):
        raise PortError(
            f"SHOP_PORT_BASE={given}: must be an integer from {MIN_BASE} to {highest}; "
            f"a run uses {data['span']} ports, beginning with this one."
        )
    return Ports(int(given), dict(data["offsets"]), dict(data["addresses"]))


def _free(place: Place, *, udp: bool) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as probe:
        if not udp:
            # Connections of the previous run may still linger in TIME_WAIT; only a listener blocks the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((place.host, place.port))
        except OSError:
            return False
    return True


def _owners(*, udp: bool) -> dict[int, str]:
    owners: dict[int, str] = {}
    # Listing other users' connections may be forbidden; the owner is only a hint.
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="udp" if udp else "tcp"):
            if (udp or connection.status == psutil.CONN_LISTEN) and connection.pid and connection.laddr:
                with contextlib.suppress(psutil.Error):
                    name = psutil.Process(connection.pid).name()
                    owners[connection.laddr.port] = f": process {connection.pid}, {name}"
    return owners
