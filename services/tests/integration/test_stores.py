"""What the stores say of themselves: what a monitor may read, and what it shows, also of a store that is away."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mesh.components.postgres import Database
from shop.database.roles import set_passwords
from shop.database.schemas import MONITOR
from shop.stores.__main__ import registry
from shop.stores.valkey import metrics_of

pytestmark = pytest.mark.integration
MEANWHILE = 3600.0
"""Seconds that a transaction is open at the most, in a test of its age."""


@pytest.fixture(scope="module")
def monitor_url(admin_url: str) -> str:
    """The monitor's URL of the server."""
    db = Database(admin_url, embedded=True)
    with contextlib.closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        for _ in range(2):  # whoever prepares again finds the role there
            set_passwords(admin, {MONITOR: db.password(MONITOR)})
    return db.url(MONITOR, "postgres")


def shown(made: CollectorRegistry) -> dict[str, dict[str, float]]:
    """What is shown as Prometheus reads it: values by labels, by name."""
    values: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(generate_latest(made).decode()):
        for sample in family.samples:
            key = ",".join(f"{name}={sample.labels[name]}" for name in sorted(sample.labels))
            values.setdefault(sample.name, {})[key] = sample.value
    return values


@pytest.fixture
def away() -> str:
    """An address at which nothing listens."""
    return "127.0.0.1:1"


def test_the_monitor_reads_counts_and_no_row(monitor_url: str, shop_url: str) -> None:
    inside = monitor_url.rpartition("/")[0] + "/" + shop_url.rpartition("/")[2]
    with contextlib.closing(psycopg.connect(inside, autocommit=True)) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query = '<insufficient privilege>'"
        ).fetchone() == (0,)
        for statement in (b"SELECT * FROM shop_user.account", b"CREATE TABLE shop_user.mine ()", b"CREATE ROLE mine"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_both_stores_say_how_they_fare(monitor_url: str, admin_url: str, valkey: object) -> None:
    made = registry({"SHOP_DATABASE_URL": monitor_url, "SHOP_CACHE_URL": valkey.url})  # type: ignore[attr-defined]
    with contextlib.closing(psycopg.connect(admin_url)) as waiting:
        waiting.execute("SELECT 1")
        values = shown(made)
    assert (values["pg_up"], values["redis_up"]) == ({"": 1}, {"": 1})
    open_ones = "datname=postgres,state=idle in transaction,usename=postgres,wait_event_type=Client"
    assert values["pg_stat_activity_count"][open_ones] == 1
    assert 0 < values["pg_stat_activity_max_tx_duration"][open_ones] < MEANWHILE
    assert values["pg_settings_max_connections"] == {"": 300}
    assert values["pg_database_size_bytes"]["datname=postgres"] > 1_000_000
    assert values["pg_stat_database_xact_commit"]["datname=postgres"] > 0
    assert values["pg_stat_checkpointer_num_requested_total"][""] >= 0
    assert values["redis_memory_max_bytes"] == {"": 64 * 2**20}
    assert values["redis_commands_processed_total"][""] > 0


def test_a_lock_that_is_waited_for_shows(monitor_url: str, admin_url: str) -> None:
    connect = psycopg.connect
    with contextlib.closing(connect(admin_url)) as holder, contextlib.closing(connect(admin_url)) as waiter:
        holder.execute("SELECT pg_advisory_xact_lock(77)")
        waiter.execute("SET lock_timeout = '20s'")
        waiter.commit()
        waiter.pgconn.send_query(b"SELECT pg_advisory_lock(77)")
        made = registry({"SHOP_DATABASE_URL": monitor_url})
        label = "datname=postgres,state=active,usename=postgres,wait_event_type=Lock"
        for _ in range(20):
            # An answer is given again for a second.
            if label in (seen := shown(made)["pg_stat_activity_count"]):
                break
            signal.sigtimedwait([], 0.5)
        assert seen[label] == 1
        holder.rollback()


def test_of_a_store_that_is_away_only_that_is_shown(away: str, caplog: pytest.LogCaptureFixture) -> None:
    urls = {
        "SHOP_DATABASE_URL": f"postgresql://me:secret@{away}/postgres",
        "SHOP_CACHE_URL": f"valkey://:secret@{away}",
    }
    values = shown(registry(urls))
    assert {name: of for name, of in values.items() if not name.startswith("process_")} == {
        "pg_up": {"": 0},
        "redis_up": {"": 0},
    }
    assert "pg_up is 0" in caplog.text
    assert "secret" not in caplog.text


def test_what_a_server_does_not_say_is_left_out() -> None:
    metrics = {metric.name: metric for metric in metrics_of({"used_memory": 7, "db3": {"keys": 2, "expires": 0}})}
    assert set(metrics) == {"redis_memory_used_bytes", "redis_db_keys"}
    assert [(sample.labels, sample.value) for sample in metrics["redis_db_keys"].samples] == [({"db": "db3"}, 2)]


@contextlib.contextmanager
def process(**env: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "shop.stores"]
    child = subprocess.Popen(command, env={"PATH": os.environ["PATH"], **env}, stderr=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.communicate(timeout=30)


@pytest.mark.parametrize("missing", ["SHOP_LISTEN_METRICS", "SHOP_DATABASE_URL"])
def test_a_setting_that_is_missing_is_named(missing: str, away: str) -> None:
    env = {"SHOP_LISTEN_METRICS": "127.0.0.1:0", "SHOP_DATABASE_URL": f"postgresql://me:secret@{away}/postgres"}
    with process(**{name: value for name, value in env.items() if name != missing}) as child:
        _, told = child.communicate(timeout=60)
    assert (child.returncode, told.splitlines()[0]) == (
        2,
        f"stores: {missing} is not set; see python -m pydoc shop.stores.__main__",
    )
