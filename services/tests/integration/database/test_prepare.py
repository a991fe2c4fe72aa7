"""Preparing the seeded template, and copying it for a trial."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dataset.__main__ import run
from dataset.seed import digest as digest_of
from dataset.seed import prepare
from dataset.trial import create_trial
from shop.database.roles import set_passwords


@pytest.fixture
def admin(admin_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the server."""
    with contextlib.closing(psycopg.connect(admin_url, autocommit=True)) as connection:
        yield connection


@pytest.fixture
def environment(admin_url: str, passwords: dict[str, str]) -> dict[str, str]:
    return {"SHOP_ADMIN_URL": admin_url, "SHOP_ROLE_PASSWORDS": json.dumps(passwords)}


def databases(admin: psycopg.Connection, prefix: str) -> list[str]:
    rows = admin.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix]).fetchall()
    return sorted(row[0] for row in rows)


def test_preparing_again_leaves_the_template_as_it_is(
    admin: psycopg.Connection, admin_url: str, passwords: dict[str, str], template: str
) -> None:
    oid = "SELECT oid FROM pg_database WHERE datname = %s"
    before = admin.execute(oid, [template]).fetchone()
    assert before is not None
    assert prepare(admin_url, passwords, seed=1, scale=1) == template
    assert admin.execute(oid, [template]).fetchone() == before


def test_the_name_says_which_data_they_are(template: str) -> None:
    assert template == f"shop_seed_{digest_of('1', '1')}"
    assert len({digest_of(seed, scale) for seed in "12" for scale in "12"}) == 4


def test_an_interrupted_preparation_leaves_nothing_and_two_at_once_make_one(
    admin_url: str, passwords: dict[str, str], environment: dict[str, str], admin: psycopg.Connection
) -> None:
    name = f"shop_seed_{digest_of('2', '1')}"
    command = [sys.executable, "-m", "dataset", "prepare", "--seed", "2"]
    with subprocess.Popen(command, env={**os.environ, **environment}, start_new_session=True) as process:
        while not databases(admin, "shop_building_"):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    before = databases(admin, "shop_seed_")
    assert name not in before
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: prepare(admin_url, passwords, seed=2, scale=1), range(2))) == [name, name]
    assert databases(admin, "shop_seed_") == sorted([*before, name])
    assert databases(admin, "shop_building_") == []


@pytest.mark.parametrize(("seed", "scale"), [(1, 0), (1, 1_001), (-1, 1)])
def test_numbers_out_of_range_are_refused(admin_url: str, seed: int, scale: int) -> None:
    with pytest.raises(ValueError, match=r"is out of range: \d"):
        prepare(admin_url, {}, seed=seed, scale=scale)


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
    with contextlib.closing(psycopg.connect(trial.role_url("order"))) as theirs:
        with pytest.raises(ValueError, match=rf"another run uses .*: {trial.name} has connections of shop_order"):
            create_trial(admin_url, template=template, name=trial.name)
        theirs.execute("SELECT 1")
        # The services of the last trial may still be leaving.
        threading.Timer(0.5, theirs.close).start()
        create_trial(admin_url, template=template, name=trial.name)
    assert digest() == before
    with contextlib.closing(psycopg.connect(trial.url)):
        create_trial(admin_url, template=template, name=trial.name, cut=True)


def test_a_trial_s_database_is_kept_on_request(admin_url: str, template: str, trial: Any) -> None:
    with psycopg.connect(trial.url) as connection:
        connection.execute("UPDATE shop_product.product SET stock = 7")
    assert create_trial(admin_url, template=template, name=trial.name, keep=True) == trial.name
    with psycopg.connect(trial.url) as connection:
        assert connection.execute("SELECT DISTINCT stock FROM shop_product.product").fetchall() == [(7,)]


class StartingServer(socketserver.BaseRequestHandler):
    """Closes every connection, like a server that has just begun to listen."""

    asked = 0

    def handle(self) -> None:
        type(self).asked += 1


def test_a_server_that_is_still_starting_is_asked_again(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), StartingServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"postgresql://postgres:secret@127.0.0.1:{server.server_address[1]}/postgres"
        assert run(["prepare", "--wait", "1"], {**environment, "SHOP_ADMIN_URL": url}) == 2
        assert "closed the connection" in capsys.readouterr().err
        assert StartingServer.asked > 1
        server.shutdown()


def test_new_rows_come_after_the_seeded_ones(shared_trial: Any) -> None:
    with psycopg.connect(shared_trial.url) as connection:
        for sequence, last in (
            ("shop_user.account_id_seq", 10_000),
            ("shop_product.product_id_seq", 10_000),
            ("shop_product.review_id_seq", 30_000),
            ("shop_order.orders_id_seq", 10_000),
            ("shop_order.order_line_id_seq", 30_000),
            ("shop_payment.payment_id_seq", 10_000),
        ):
            assert connection.execute("SELECT nextval(%s)", [sequence]).fetchone() == (last + 1,)


def test_statistics_are_there(shared_trial: Any) -> None:
    with psycopg.connect(shared_trial.url) as connection:
        rows = connection.execute(
            "SELECT relname, reltuples FROM pg_class WHERE relname IN ('orders', 'order_line', 'product')"
        ).fetchall()
    assert dict(rows) == {"orders": 10_000, "order_line": 30_000, "product": 10_000}


def test_only_the_services_may_connect(shared_trial: Any, admin: psycopg.Connection) -> None:
    with contextlib.suppress(psycopg.errors.DuplicateObject):
        admin.execute("CREATE ROLE stranger LOGIN PASSWORD 'known'")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(make_conninfo(shared_trial.url, user="stranger", password="known"))


@pytest.mark.parametrize("name", ["postgres", "template1", "@template"])
def test_a_database_that_is_not_a_trials_stays(admin_url: str, template: str, name: str) -> None:
    with pytest.raises(ValueError, match="is not a trial's database"):
        create_trial(admin_url, template=template, name=template if name == "@template" else name)


@pytest.mark.parametrize("keep", [False, True])
def test_a_database_that_is_no_copy_of_a_template_stays(
    admin: psycopg.Connection, admin_url: str, template: str, keep: bool
) -> None:
    admin.execute("CREATE DATABASE other")
    try:
        with pytest.raises(ValueError, match="'other' is not a trial's database"):
            create_trial(admin_url, template=template, name="other", keep=keep, cut=True)
        assert databases(admin, "other") == ["other"]
    finally:
        admin.execute("DROP DATABASE IF EXISTS other WITH (FORCE)")


def test_an_unknown_template_is_refused_with_the_known_ones(admin_url: str, template: str) -> None:
    with pytest.raises(ValueError, match=template):
        create_trial(admin_url, template="shop_seed_unknown", name="shop_trial")


def test_the_command_line(
    environment: dict[str, str], template: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments, environment)
        out, err = capsys.readouterr()
        return code, out.strip(), err

    assert command("prepare", "--scale", "1", "--seed", "1")[:2] == (0, template)
    assert command("prepare", "--scale", "1", "--seed", "1", "--trial", "shop_cli")[:2] == (0, "shop_cli")
    code, out, _ = command("audit", "--name", "shop_cli")
    assert code == 0
    assert "BROKEN" not in out
    assert command("audit", "--name", "shop_nowhere")[0] == 2
    assert "out of range" in command("prepare", "--scale", "0")[2]
    code, _, err = command("audit", "--name", "shop_cli", "--acknowledged", str(tmp_path / "none.jsonl"))
    assert (code, "none.jsonl" in err) == (2, True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "SHOP_ADMIN_URL",
            "",
            "SHOP_ADMIN_URL is not set; set it, for example SHOP_ADMIN_URL=postgresql://admin:password@",
        ),
        ("SHOP_ROLE_PASSWORDS", "", "SHOP_ROLE_PASSWORDS is not set"),
        ("SHOP_ROLE_PASSWORDS", '"secret"', 'SHOP_ROLE_PASSWORDS is not valid; valid: {"shop_product": '),
        ("SHOP_ROLE_PASSWORDS", '{"shop_user": "secret"}', "SHOP_ROLE_PASSWORDS is not valid"),
        ("SHOP_ROLE_PASSWORDS", "{secret", "SHOP_ROLE_PASSWORDS is not valid"),
    ],
)
def test_bad_settings_of_the_command_line_are_named_and_not_repeated(
    environment: dict[str, str], name: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare"], {**environment, name: value}) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "secret" not in said


def test_passwords_are_those_of_the_last_preparation(
    admin_url: str, passwords: dict[str, str], template: str, shared_trial: Any
) -> None:
    url = shared_trial.role_url("user")
    psycopg.connect(url).close()
    prepare(admin_url, {"shop_user": "another"}, seed=1, scale=1)
    try:
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(url)
        psycopg.connect(make_conninfo(url, password="another")).close()
    finally:
        prepare(admin_url, passwords, seed=1, scale=1)
    psycopg.connect(url).close()


def test_the_server_s_log_holds_no_password(admin_url: str, passwords: dict[str, str], template: str) -> None:
    with psycopg.connect(admin_url) as admin:
        logged: list[str] = []
        admin.add_notice_handler(lambda notice: logged.append(str(notice.message_primary)))
        admin.execute("SET log_statement = 'all'")
        admin.execute("SET client_min_messages = 'log'")
        set_passwords(admin, passwords)
        admin.rollback()
    assert sum("ALTER ROLE" in line for line in logged) == len(passwords)
    assert not any(password in line for line in logged for password in passwords.values())
