"""What is compared: a component of the shop, and a bare framework that does the same work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from mesh.components.database import Database
from mesh.components.keys import KeyPair
from mesh.components.shop_processes import DATABASE_TASK, Surroundings, shop_component
from mesh.description.places import Place
from mesh.description.ports import Ports
from mesh.description.topology import Protocol, load_topology, port_name
from mesh.supervisor.processes import Component
from platform_bench.load import UNDER_WAY, Calls, GetPath, GetProduct

TARGET = 1.10


@dataclass(frozen=True, slots=True)
class Around:
    """What the processes of all cases have in common.

    Attributes:
        ports: Ports of the run.
        database: The database server.
        keys: Key pair of the tokens.
    """

    ports: Ports
    database: Database
    keys: KeyPair


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two processes of a case.

    Attributes:
        component: What to run; its name is unique among all cases.
        calls: The calls that it serves.
    """

    component: Component
    calls: Calls


@dataclass(frozen=True, slots=True)
class Case:
    """A component beside a bare framework that does the same work.

    Attributes:
        name: Name on the command line and in the table.
        shop: The component.
        bare: The bare framework.
        most: Largest ratio of their CPU time per call.
    """

    name: str
    shop: Callable[[Around], Side]
    bare: Callable[[Around], Side]
    most: float


def _product(name: str, topology: str, protocol: Protocol, calls: Callable[[Place], Calls]) -> Case:
    """The product service, which clients reach, beside a bare one at the place of a second replica."""

    def component(around: Around, replica: int) -> Component:
        settings = {"product": {"SHOP_DATABASE_POOL": str(UNDER_WAY)}}
        surroundings = Surroundings(
            load_topology(topology), around.ports, around.database, around.keys, "platform-bench", settings
        )
        return shop_component("product", surroundings, frozenset({DATABASE_TASK}), replica)

    def shop(around: Around) -> Side:
        place = around.ports.listens(port_name("product", protocol))
        return Side(replace(component(around, 1), name=f"{name}-shop"), calls(place))

    def bare(around: Around) -> Side:
        place = around.ports.listens(port_name("product", protocol), 2)
        argv = [sys.executable, "-m", f"platform_bench.bare.product_{protocol}"]
        bare = replace(
            component(around, 2), name=f"{name}-bare", argv=lambda: argv, replica_of="", imports_meanwhile=False
        )
        return Side(bare, calls(place))

    return Case(name, shop, bare, TARGET)


CASES = (
    _product("grpc-product", "grpc", Protocol.GRPC, GetProduct),
    _product("rest-product", "rest", Protocol.REST, lambda place: GetPath(place, "/v1/products/1")),
)
