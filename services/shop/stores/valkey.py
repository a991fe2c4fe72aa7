"""Valkey's own counts, by the names that redis_exporter gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from shop.stores.collector import LIMIT_S

GAUGES = {
    "used_memory": ("redis_memory_used_bytes", "Memory of keys, values and clients."),
    "maxmemory": ("redis_memory_max_bytes", "Memory that there may be; 0 for no bound."),
    "used_memory_rss": ("redis_memory_used_rss_bytes", "Memory of the process."),
    "connected_clients": ("redis_connected_clients", "Clients that are connected."),
    "maxclients": ("redis_config_maxclients", "Clients that there may be."),
    "blocked_clients": ("redis_blocked_clients", "Clients that wait for a command which blocks."),
}
COUNTERS = {
    "total_commands_processed": ("redis_commands_processed", "Commands that were answered."),
    "total_connections_received": ("redis_connections_received", "Clients that connected."),
    "rejected_connections": ("redis_rejected_connections", "Clients that were refused, as there were too many."),
    "keyspace_hits": ("redis_keyspace_hits", "Keys that were looked for and found."),
    "keyspace_misses": ("redis_keyspace_misses", "Keys that were looked for and not found."),
    "expired_keys": ("redis_expired_keys", "Keys whose time was over."),
    "evicted_keys": ("redis_evicted_keys", "Keys that had to make room for others."),
}
"""Fields of the answer to INFO (https://valkey.io/commands/info/): each one's metric, and what it is."""


def valkey(url: str) -> Callable[[], Sequence[Metric]]:
    """Returns what asks a server; it raises `valkey.exceptions.ValkeyError`.

    Args:
        url: The server, with its password.
    """
    from valkey import Valkey

    def ask() -> Sequence[Metric]:
        with Valkey.from_url(url, socket_timeout=LIMIT_S, socket_connect_timeout=LIMIT_S) as client:
            return metrics_of(client.info())

    return ask


def metrics_of(info: Mapping[str, object]) -> Sequence[Metric]:
    """The metrics in a server's answer; what this one does not say is left out."""
    gauges = [
        GaugeMetricFamily(name, about, float(str(info[field])))
        for field, (name, about) in GAUGES.items()
        if field in info
    ]
    counters = [
        CounterMetricFamily(name, about, float(str(info[field])))
        for field, (name, about) in COUNTERS.items()
        if field in info
    ]
    keys = GaugeMetricFamily("redis_db_keys", "Keys.", labels=["db"])
    for field, said in info.items():
        if field.startswith("db") and isinstance(said, Mapping) and "keys" in said:
            keys.add_metric([field], said["keys"])
    return [*gauges, *counters, keys]
