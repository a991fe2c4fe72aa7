"""PostgreSQL's own counts, by the names that postgres_exporter gives them.

Nearly all are columns of the statistics views (https://www.postgresql.org/docs/current/monitoring-stats.html): the name
of the view, then that of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from prometheus_client.core import Metric
from psycopg.rows import dict_row

from shop.stores.collector import LIMIT_S

COUNTER, GAUGE = "unknown", "gauge"
"""Most counters of the exporter have no `_total` at their ends, without which OpenMetrics takes none for a counter."""


@dataclass(frozen=True)
class View:
    """Rows to ask for.

    Attributes:
        name: First part of the metrics' names.
        labels: Columns that tell rows apart.
        kind: What the others are.
        values: The others, and what each of them is.
        statement: What returns the rows.
        since: The first version of PostgreSQL that can answer, as `server_version_num` has it.
    """

    name: str
    labels: tuple[str, ...]
    kind: str
    values: Mapping[str, str]
    statement: str
    since: int = 0


VIEWS = (
    View(
        "pg_stat_activity",
        ("datname", "usename", "state", "wait_event_type"),
        GAUGE,
        {
            "count": "Connections of clients.",
            "max_tx_duration": "Age of the oldest transaction among them, in seconds.",
        },
        """
        SELECT coalesce(datname, '') AS datname, coalesce(usename, '') AS usename, coalesce(state, '') AS state,
            coalesce(wait_event_type, '') AS wait_event_type, count(*) AS count,
            coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) AS max_tx_duration
        FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1, 2, 3, 4
        """,
    ),
    View(
        "pg_stat_database",
        ("datname",),
        COUNTER,
        {
            "xact_commit": "Transactions that were committed.",
            "xact_rollback": "Transactions that were rolled back.",
            "deadlocks": "Deadlocks.",
            "blks_hit": "Blocks found in PostgreSQL's own memory.",
            "blks_read": "Blocks that were not, and were read from files.",
            "temp_bytes": "Bytes of temporary files: what statements could not sort or join in memory.",
        },
        """
        SELECT datname, xact_commit, xact_rollback, deadlocks, blks_hit, blks_read, temp_bytes
        FROM pg_stat_database JOIN pg_database USING (datname) WHERE NOT datistemplate
        """,
    ),
    View(
        "pg_database",
        ("datname",),
        GAUGE,
        {"size_bytes": "Size of the database's files."},
        "SELECT datname, pg_database_size(oid) AS size_bytes FROM pg_database WHERE NOT datistemplate",
    ),
    View(
        "pg_locks",
        ("datname", "mode"),
        GAUGE,
        {"count": "Locks that are held or waited for."},
        """
        SELECT datname, lower(mode) AS mode, count(*) AS count
        FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE pid <> pg_backend_pid() GROUP BY 1, 2
        """,
    ),
    View(
        "pg_settings",
        (),
        GAUGE,
        {"max_connections": "Connections that there may be."},
        "SELECT current_setting('max_connections')::integer AS max_connections",
    ),
    View(
        "pg_stat_checkpointer",
        (),
        COUNTER,
        {
            "num_timed_total": "Checkpoints that were due.",
            "num_requested_total": "Checkpoints that came early, most often because much had been written.",
            "write_time_total": "Time in which checkpoints wrote, in milliseconds.",
            "sync_time_total": "Time in which they waited for the disk, in milliseconds.",
            "buffers_written_total": "Blocks that they wrote.",
        },
        """
        SELECT num_timed AS num_timed_total, num_requested AS num_requested_total, write_time AS write_time_total,
            sync_time AS sync_time_total, buffers_written AS buffers_written_total
        FROM pg_stat_checkpointer
        """,
        since=17_00_00,
    ),
)


def postgres(url: str) -> Callable[[], Sequence[Metric]]:
    """Returns what asks a server; it raises `psycopg.Error`.

    Args:
        url: Any database of the server, as a role that is a member of `pg_monitor`.
    """

    def ask() -> Sequence[Metric]:
        # A connection for each answer: none is held while nobody asks, and none breaks when the server starts again.
        with psycopg.connect(url, autocommit=True, connect_timeout=LIMIT_S, row_factory=dict_row) as connection:
            connection.execute(f"SET statement_timeout = '{LIMIT_S}s'")
            version = connection.info.server_version
            return [metric for view in VIEWS if view.since <= version for metric in _of(view, connection)]

    return ask


def _of(view: View, connection: psycopg.Connection[dict[str, object]]) -> Sequence[Metric]:
    rows = connection.execute(view.statement.encode()).fetchall()
    metrics = {column: Metric(f"{view.name}_{column}", about, view.kind) for column, about in view.values.items()}
    for row in rows:
        labels = {label: str(row[label]) for label in view.labels}
        for column, metric in metrics.items():
            metric.add_sample(metric.name, labels, float(str(row[column])))
    return list(metrics.values())
