"""What shows how the stores fare, with `metrics=on`: PostgreSQL, and Valkey if there is one."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from mesh.components.postgres import Database
from mesh.components.shop_processes import DATABASE_TASK, MONITOR_ROLE
from mesh.components.valkey import Cache
from mesh.description.places import Places
from mesh.description.topology import metrics_port
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import tcp

STORES = "stores"
MODULE = "shop.stores"


def stores_component(database: Database, cache: Cache | None, places: Places) -> Component:
    """What to run for it.

    Args:
        database: The server; the task that prepares its data makes the role that looks.
        cache: The cache, if there is one.
        places: Where it listens.
    """
    place = places.listens(metrics_port(STORES))
    # Beside the shop's database, which a trial replaces.
    name = urlsplit(database.admin_url).path.lstrip("/")
    env = {"SHOP_LISTEN_METRICS": str(place), "SHOP_DATABASE_URL": database.url(MONITOR_ROLE, name)}
    return Component(
        STORES,
        argv=lambda: [sys.executable, "-m", MODULE],
        env={**env, **({} if cache is None else {"SHOP_CACHE_URL": cache.url})},
        ready=tcp(place.port, place.host),
        after=frozenset({DATABASE_TASK}),
        stop_rank=STORE_RANK,
    )
