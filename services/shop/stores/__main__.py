"""Shows what the stores say of themselves at a port: `python -m shop.stores`.

SHOP_LISTEN_METRICS is where, host:port. SHOP_DATABASE_URL is any database of the server, as a role that is a member of
pg_monitor; SHOP_CACHE_URL the cache, if there is one. Only then is it asked.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping

import psycopg
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.process_collector import ProcessCollector

from shop.platform.config import ConfigError, split_address
from shop.platform.process.logs import JsonLines
from shop.stores.collector import Store
from shop.stores.postgres import postgres

NAME = "stores"
STOPS = {signal.SIGTERM, signal.SIGINT}


def registry(env: Mapping[str, str]) -> CollectorRegistry:
    """Everything that is shown.

    Raises:
        ConfigError: SHOP_DATABASE_URL is not set.
    """
    shown = CollectorRegistry()
    ProcessCollector(registry=shown)
    shown.register(Store("pg_up", postgres(_set(env, "SHOP_DATABASE_URL")), psycopg.Error))
    if url := env.get("SHOP_CACHE_URL"):
        # Here, as the image has no client of Valkey's.
        from valkey.exceptions import ValkeyError

        from shop.stores.valkey import valkey

        shown.register(Store("redis_up", valkey(url), ValkeyError))
    return shown


def main(env: Mapping[str, str]) -> int:
    """Shows it until a signal; returns the exit code."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(NAME))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    # Before threads begin, so that this one gets the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        address = _set(env, "SHOP_LISTEN_METRICS")
        host, port = split_address(address)
        server, thread = start_http_server(port, host, registry(env))
    except (ConfigError, ValueError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{NAME}: cannot listen on {address}: {error.strerror}", file=sys.stderr)
        return 2
    signal.sigwait(STOPS)
    server.shutdown()
    server.server_close()
    thread.join()
    return 0


def _set(env: Mapping[str, str], name: str) -> str:
    if value := env.get(name):
        return value
    raise ConfigError(f"{name} is not set; see python -m pydoc shop.stores.__main__")


if __name__ == "__main__":
    sys.exit(main(os.environ))
