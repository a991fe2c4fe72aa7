"""The services with their database as real processes, without gateways, for proofs that kill them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from mesh.components.keys import key_pair
from mesh.components.postgres import POSTGRES, database, postgres_components
from mesh.components.shop_processes import (
    DATABASE_TASK,
    TRIAL_DATABASE,
    Data,
    Surroundings,
    database_task,
    shop_component,
)
from mesh.components.valkey import VALKEY, cache, valkey_components
from mesh.description.ports import Ports, replica_name
from mesh.description.topology import Protocol, load_topology, port_name
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

TOPOLOGY = load_topology("hybrid", updates="on")


class Shop(Run):
    """All services on a fresh database, including updates of orders. Use it in a `with` block.

    Args:
        ports: Ports of the run, which include the number of replicas.
        folder: Folder of the run.
        environ: Environment that `DATABASE_URL` is read from.
        cached: Settings of the services for a cache before the database; None for no cache.
    """

    def __init__(
        self,
        ports: Ports,
        folder: RunFolder,
        environ: Mapping[str, str] | None = None,
        *,
        cached: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(ports, folder)
        self._database = database(ports, os.environ if environ is None else environ, folder)
        # Always the run's own database, because it is killed.
        self._cache = None if cached is None else cache(ports, {}, self._database)
        self._settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": "", **(cached or {})}

    @property
    def admin_url(self) -> str:
        """URL of the server for a superuser."""
        return self._database.admin_url

    @property
    def store_url(self) -> str:
        """URL of the services' database for a superuser."""
        return self._database.admin_url_of(TRIAL_DATABASE)

    @property
    def database_name(self) -> str:
        """Name of the services' database."""
        return TRIAL_DATABASE

    def address(self, service: str) -> str:
        """Returns the peer address of a service's replicas."""
        return f"grpc://{','.join(map(str, self.ports.endpoints(port_name(service, Protocol.GRPC))))}"

    def all_pids(self) -> list[int]:
        """Returns the ids of all processes."""
        return [pid for pids in self.pids().values() for pid in pids]

    def replicas(self, service: str) -> list[str]:
        """Returns the names of a service's processes."""
        return [replica_name(service, replica) for replica in self.ports.replicas_of(service)]

    def port_names(self) -> list[str]:
        """Returns the names of the ports that must be free before the start."""
        services = [port_name(service, Protocol.GRPC) for service in TOPOLOGY.services]
        caches = [VALKEY] if self._cache else []
        return [*services, *caches, *([POSTGRES] if self._database.embedded else [])]

    def components(self) -> Sequence[Component]:
        """Returns the components to run."""
        around = Surroundings(
            TOPOLOGY,
            self.ports,
            self._database,
            key_pair(self.folder),
            "chaos",
            dict.fromkeys(TOPOLOGY.services, self._settings),
            telemetry=self.folder.telemetry,
            cache=self._cache,
        )
        before = [] if self._cache is None else valkey_components(self._cache, self.folder, self.ports)
        store = postgres_components(self.folder, self.ports) if self._database.embedded else []
        return [
            *store,
            *before,
            database_task(self._database, Data(), after=frozenset(item.name for item in store)),
            *(
                shop_component(service, around, frozenset({DATABASE_TASK, *(item.name for item in before)}), replica)
                for service in TOPOLOGY.services
                for replica in self.ports.replicas_of(service)
            ),
        ]
