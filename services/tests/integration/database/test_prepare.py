"""Preparing the seeded template, and copying it for a trial."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shop.database import schemas
from shop.database.__main__ import run
from shop.database.migrate import migrate
from shop.database.seed import prepare
from shop.database.trial import create_trial

pytestmark = pytest.mark.integration


@pytest.fixture
def admin(admin_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the server."""
    with contextlib.closing(psycopg.connect(admin_url, autocommit=True)) as connection:
        yield connection


def databases(admin: psycopg.Connection, prefix: str) -> list[str]:
    rows = admin.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix]).fetchall()
    return sorted(row[0] for row in rows)


def test_preparing_again_gives_the_same_template_at_once(admin_url: str, template: str) -> None:
    began = time.monotonic()
    assert prepare(admin_url, seed=1, scale=1) == template
    assert time.monotonic() - began < 0.5


def test_the_name_says_which_data_they_are(template: str) -> None:
    assert template == f"shop_seed_{schemas.digest('1', '1')}"
    assert len({schemas.digest(seed, scale) for seed in "12" for scale in "12"}) == 4


def test_an_interrupted_preparation_leaves_nothing_and_two_at_once_make_one(
    admin_url: str, admin: psycopg.Connection
) -> None:
    name = f"shop_seed_{schemas.digest('2', '1')}"
    command = [sys.executable, "-m", "shop.database", "prepare", "--admin-url", admin_url, "--seed", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "shop_product.review" in line:
                os.killpg(process.pid, signal.SIGKILL)
                break
    before = databases(admin, "shop_seed_")
    assert name not in before
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: prepare(admin_url, seed=2, scale=1), range(2))) == [name, name]
    assert databases(admin, "shop_seed_") == sorted([*before, name])
    assert databases(admin, "shop_building_") == []


@pytest.mark.parametrize(("seed", "scale"), [(1, 0), (1, 1_001), (-1, 1)])
def test_numbers_out_of_range_are_refused(admin_url: str, seed: int, scale: int) -> None:
    with pytest.raises(ValueError, match=r"is out of range: \d"):
        prepare(admin_url, seed=seed, scale=scale)


def test_every_trial_begins_with_the_same_rows(admin_url: str, template: str, trial: Any) -> None:
    def digest() -> list[tuple[Any, ...]]:
        with psycopg.connect(trial.url) as connection:
            return [
                connection.execute(
                    f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {table} t"
                ).fetchall()[0]
                for table in ("shop_product.product", "shop_order.orders", "shop_payment.payment")
            ]

    before = digest()
    with psycopg.connect(trial.url) as connection:
        connection.execute("UPDATE shop_product.product SET stock = 0")
        connection.execute("DELETE FROM shop_payment.payment")
    assert digest() != before
    # Somebody still connected to the old one is no obstacle.
    with contextlib.closing(psycopg.connect(trial.url)):
        create_trial(admin_url, template=template, name=trial.name)
    assert digest() == before


def test_new_rows_come_after_the_seeded_ones(trial: Any) -> None:
    with psycopg.connect(trial.url) as connection:
        for sequence, last in (
            ("shop_user.account_id_seq", 10_000),
            ("shop_product.product_id_seq", 10_000),
            ("shop_product.review_id_seq", 30_000),
            ("shop_order.orders_id_seq", 10_000),
            ("shop_order.order_line_id_seq", 30_000),
            ("shop_payment.payment_id_seq", 10_000),
        ):
            assert connection.execute("SELECT nextval(%s)", [sequence]).fetchone() == (last + 1,)


def test_statistics_are_there(trial: Any) -> None:
    with psycopg.connect(trial.url) as connection:
        rows = connection.execute(
            "SELECT relname, reltuples FROM pg_class WHERE relname IN ('orders', 'order_line', 'product')"
        ).fetchall()
    assert dict(rows) == {"orders": 10_000, "order_line": 30_000, "product": 10_000}


def test_only_the_services_may_connect(trial: Any, admin: psycopg.Connection) -> None:
    with contextlib.suppress(psycopg.errors.DuplicateObject):
        admin.execute("CREATE ROLE stranger LOGIN")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(trial.url.replace("postgres@", "stranger@"))


@pytest.mark.parametrize("name", ["postgres", "template1", "@template"])
def test_a_database_that_is_no_trials_stays(admin_url: str, template: str, name: str) -> None:
    with pytest.raises(ValueError, match="is not a trial's database"):
        create_trial(admin_url, template=template, name=template if name == "@template" else name)


def test_an_unknown_template_is_refused_with_the_known_ones(admin_url: str, template: str) -> None:
    with pytest.raises(ValueError, match=template):
        create_trial(admin_url, template="shop_seed_unknown", name="shop_trial")


def test_the_command_line(admin_url: str, template: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = run([arguments[0], "--admin-url", admin_url, *arguments[1:]])
        out, err = capsys.readouterr()
        return code, out.strip(), err

    assert command("prepare", "--scale", "1", "--seed", "1")[:2] == (0, template)
    assert command("trial", "--template", template, "--name", "shop_cli")[:2] == (0, "shop_cli")
    code, out, _ = command("audit", "--name", "shop_cli")
    assert code == 0
    assert "BROKEN" not in out
    assert command("audit", "--name", "shop_nowhere")[0] == 2
    assert "out of range" in command("prepare", "--scale", "0")[2]
    code, _, err = command("audit", "--name", "shop_cli", "--acknowledged", str(tmp_path / "none.jsonl"))
    assert (code, "none.jsonl" in err) == (2, True)


def test_migrating_a_second_time_changes_nothing(shop_url: str) -> None:
    assert migrate(shop_url) == []
