"""Every invariant is broken on purpose once, and the audit must name it."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dataset.__main__ import run
from dataset.acknowledged import Acknowledgement
from dataset.audit import check_invariants
from dataset.invariants import INVARIANTS

LIVE_ORDER = "(SELECT min(id) FROM shop_order.orders WHERE status = 'CONFIRMED')"
GONE_ORDER = "(SELECT min(id) FROM shop_order.orders WHERE status = 'CANCELLED')"
LIVE, GONE = (f"(SELECT checkout_id FROM shop_order.orders WHERE id = {order})" for order in (LIVE_ORDER, GONE_ORDER))
"""The checkouts of both orders."""
NEW = str(uuid.UUID(int=1))
# A complete and correct checkout that bought order 10,001.
WHOLE = f"""
    INSERT INTO shop_order.orders VALUES (10001, 9000, 'CONFIRMED', now(), 300, 'EUR', '{NEW}');
    INSERT INTO shop_order.order_line VALUES (30001, 10001, 1, 9000, 3, 100);
    INSERT INTO shop_order.checkout (id, user_id, idempotency_key, request_hash, state, step, order_id, instance, boot,
        lease_until) VALUES ('{NEW}', 9000, 'key', '', 'COMPLETED', 'SETTLE', 10001, 'here', '{NEW}', now());
    INSERT INTO shop_product.reservation VALUES ('{NEW}', 'CONFIRMED', now());
    INSERT INTO shop_product.reservation_line VALUES ('{NEW}', 9000, 3, 100, 'EUR');
    UPDATE shop_product.product SET stock = stock - 3, sold = sold + 3 WHERE id = 9000;
    INSERT INTO shop_payment.payment VALUES (10001, '{NEW}', 10001, 'CAPTURED', 300, 'EUR', NULL, now(), 9000);
"""
UNDER_WAY = f"""
    INSERT INTO shop_order.checkout (id, user_id, idempotency_key, request_hash, state, step, instance, boot,
        lease_until) VALUES ('{NEW}', 9000, 'key', '', 'RUNNING', 'AUTHORIZE', 'here', '{NEW}', now());
    INSERT INTO shop_product.reservation VALUES ('{NEW}', 'HELD', now());
    INSERT INTO shop_product.reservation_line VALUES ('{NEW}', 9000, 3, 100, 'EUR');
    UPDATE shop_product.product SET stock = stock - 3 WHERE id = 9000;
    INSERT INTO shop_payment.payment VALUES (10001, '{NEW}', NULL, 'AUTHORIZED', 300, 'EUR', NULL, now(), 9000);
"""
# The customer of this order has all notifications about it.
SENT = """
    INSERT INTO shop_notification.mailbox VALUES (9000, 2);
    INSERT INTO shop_notification.notification (user_id, position, event_id, order_id, status, happened_at)
        VALUES (9000, 1, 1, 10001, 'PENDING', now()), (9000, 2, 2, 10001, 'CONFIRMED', now());
"""
# The same for a customer who also has notifications of seeded orders.
SENT_MORE = """
    INSERT INTO shop_audit.told VALUES (9000, 5);
    INSERT INTO shop_notification.mailbox VALUES (9000, 7);
    INSERT INTO shop_notification.notification (user_id, position, event_id, order_id, status, happened_at)
        VALUES (9000, 6, 1, 10001, 'PENDING', now()), (9000, 7, 2, 10001, 'CONFIRMED', now());
"""
WAITING = "INSERT INTO shop_order.outbox (order_id, user_id, status) VALUES (10001, 9000, '{}');"
BROKEN = [
    ("stock_conserved", "UPDATE shop_product.product SET stock = stock + 1 WHERE id = 5"),
    ("stock_conserved", "UPDATE shop_product.product SET stock = stock - 1 WHERE id = 5"),
    # A restock wrote 25, because it had read a stock of 5, but 22 pieces were sold meanwhile.
    ("stock_conserved", "UPDATE shop_product.product SET stock = 25, stocked = stocked + 25 - stock - 22 WHERE id = 5"),
    ("sold_counted", "UPDATE shop_product.product SET stock = stock - 1, sold = sold + 1 WHERE id = 5"),
    ("orders_reserved", f"UPDATE shop_product.reservation SET state = 'RELEASED' WHERE id = {LIVE}"),
    ("orders_reserved", f"UPDATE shop_product.reservation SET state = 'CONFIRMED' WHERE id = {GONE}"),
    (
        "orders_reserved",
        f"UPDATE shop_product.reservation_line SET quantity = quantity + 1 WHERE reservation_id = {LIVE}",
    ),
    (
        "captured_belongs",
        f"UPDATE shop_payment.payment SET amount_minor = amount_minor + 1 WHERE order_id = {LIVE_ORDER}",
    ),
    ("captured_belongs", f"UPDATE shop_payment.payment SET status = 'CAPTURED' WHERE order_id = {GONE_ORDER}"),
    (
        "captured_belongs",
        f"INSERT INTO shop_payment.payment VALUES (10001, '{NEW}', 99999, 'CAPTURED', 1, 'EUR', NULL, now(), 9000)",
    ),
    ("payments_of_buyers", f"UPDATE shop_payment.payment SET user_id = user_id + 1 WHERE order_id = {LIVE_ORDER}"),
    ("payments_of_buyers", UNDER_WAY + "UPDATE shop_payment.payment SET user_id = 9001 WHERE id = 10001"),
    ("orders_paid", f"UPDATE shop_payment.payment SET status = 'VOIDED' WHERE order_id = {LIVE_ORDER}"),
    ("orders_paid", f"DELETE FROM shop_payment.payment WHERE order_id = {LIVE_ORDER}"),
    ("cancelled_given_back", f"UPDATE shop_payment.payment SET status = 'AUTHORIZED' WHERE order_id = {GONE_ORDER}"),
    ("cancelled_given_back", f"UPDATE shop_product.reservation SET state = 'HELD' WHERE id = {GONE}"),
    ("orders_add_up", f"UPDATE shop_order.orders SET total_minor = total_minor + 1 WHERE id = {LIVE_ORDER}"),
    ("orders_add_up", f"DELETE FROM shop_order.order_line WHERE order_id = {LIVE_ORDER}"),
    ("orders_add_up", f"UPDATE shop_order.order_line SET line_number = line_number + 10 WHERE order_id = {LIVE_ORDER}"),
    ("one_order_per_checkout", WHOLE + "DELETE FROM shop_order.checkout"),
    ("one_order_per_checkout", WHOLE + "UPDATE shop_order.checkout SET user_id = 9001"),
    (
        "one_order_per_checkout",
        WHOLE + f"UPDATE shop_order.orders SET checkout_id = '{uuid.UUID(int=2)}' WHERE id = 10001",
    ),
    ("one_order_per_checkout", WHOLE + "UPDATE shop_order.checkout SET state = 'RUNNING'"),
    ("nothing_pending", f"UPDATE shop_order.orders SET status = 'PENDING' WHERE id = {LIVE_ORDER}"),
    ("nothing_held", f"INSERT INTO shop_product.reservation VALUES ('{NEW}', 'HELD', now())"),
    (
        "nothing_authorized",
        f"INSERT INTO shop_payment.payment VALUES (10001, '{NEW}', NULL, 'AUTHORIZED', 1, 'EUR', NULL, now(), 9000)",
    ),
    ("sagas_end", UNDER_WAY + "UPDATE shop_order.checkout SET updated_at = now() - interval '61 s'"),
    (
        "updates_told",
        WHOLE + SENT + "DELETE FROM shop_notification.notification WHERE user_id = 9000 AND position = 2",
    ),
    ("updates_told", WHOLE + SENT + "DELETE FROM shop_notification.notification WHERE user_id = 9000"),
    ("updates_told", WHOLE + SENT + "UPDATE shop_notification.notification SET position = 9 WHERE event_id = 1"),
    (
        "updates_told",
        WHOLE + SENT + "UPDATE shop_notification.notification SET order_id = 10002 WHERE event_id = 2",
    ),
    ("updates_told", WHOLE + SENT + WAITING.format("CONFIRMED")),
    ("updates_told", WHOLE + WAITING.format("PENDING")),
    ("updates_told", WHOLE + WAITING.format("CONFIRMED") + WAITING.format("PENDING")),
    ("updates_counted", WHOLE + SENT_MORE + "UPDATE shop_notification.mailbox SET last_position = 8"),
    (
        "updates_counted",
        WHOLE + SENT + "UPDATE shop_notification.mailbox SET last_position = 3 WHERE user_id = 9000",
    ),
    (
        "updates_counted",
        WHOLE + SENT + "DELETE FROM shop_notification.notification WHERE user_id = 9000 AND position = 2;"
        "UPDATE shop_notification.mailbox SET last_position = 1 WHERE user_id = 9000",
    ),
    (
        "sagas_end",
        f"""INSERT INTO shop_order.cancellation
            VALUES ({GONE_ORDER}, 'RUNNING', 'here', '{NEW}', 1, now(), now(), now() - interval '61 s')""",
    ),
]


@pytest.fixture
def database(shared_trial: Any) -> Iterator[psycopg.Connection]:
    """A connection in a transaction that is rolled back at the end."""
    with contextlib.closing(psycopg.connect(shared_trial.url)) as connection:
        yield connection
        connection.rollback()


def broken(database: psycopg.Connection, *acknowledged: Acknowledgement) -> dict[str, tuple[str, ...]]:
    findings = check_invariants(database, acknowledged=acknowledged, grace_s=60.0)
    assert [finding.name for finding in findings] == [invariant.name for invariant in INVARIANTS]
    assert all(finding.ok is (finding.violations == 0) for finding in findings)
    return {finding.name: finding.samples for finding in findings if not finding.ok}


def change(database: psycopg.Connection, statements: str) -> None:
    for statement in filter(str.strip, statements.split(";")):
        database.execute(statement.encode())


@pytest.mark.parametrize("statements", ["", UNDER_WAY], ids=["a fresh seed", "a checkout under way"])
def test_a_shop_without_faults_is_sound(database: psycopg.Connection, statements: str) -> None:
    change(database, statements)
    assert broken(database) == {}


@pytest.mark.parametrize(
    "news",
    [
        "",
        SENT,
        SENT_MORE,
        WAITING.format("PENDING") + WAITING.format("CONFIRMED"),
        # The event is delivered, but the order service does not know this yet.
        SENT + "INSERT INTO shop_order.outbox (id, order_id, user_id, status) OVERRIDING SYSTEM VALUE "
        "VALUES (2, 10001, 9000, 'CONFIRMED')",
        "INSERT INTO shop_shared.deleted_user VALUES (9000)",
    ],
    ids=["no notifications", "delivered", "delivered more", "waiting", "both", "gone"],
)
def test_a_complete_checkout_is_sound(database: psycopg.Connection, news: str) -> None:
    change(database, WHOLE + news)
    assert broken(database, Acknowledgement(1, 10_001, 9_000, "key")) == {}


@pytest.mark.parametrize(("name", "statements"), BROKEN, ids=[f"{name}-{n}" for n, (name, _) in enumerate(BROKEN)])
def test_violations_are_found(database: psycopg.Connection, name: str, statements: str) -> None:
    change(database, statements)
    findings = broken(database)
    assert name in findings
    assert findings[name]


def test_every_invariant_is_broken_by_some_test() -> None:
    tested = {name for name, _ in BROKEN} | {"acknowledged_kept", "acknowledged_once"}
    assert tested == {invariant.name for invariant in INVARIANTS}


@pytest.mark.parametrize(
    ("seen", "name", "sample"),
    [
        (
            [Acknowledgement(1, 99_999, 9_000, "key")],
            "acknowledged_kept",
            "order 99999, acknowledged in line 1: missing",
        ),
        ([Acknowledgement(4, 10_001, 9_001, "key")], "acknowledged_kept", "of another checkout"),
        ([Acknowledgement(4, 10_001, 9_000, "other")], "acknowledged_kept", "of another checkout"),
        ([Acknowledgement(4, 17, None, None)], "acknowledged_kept", "of another checkout"),
        ([Acknowledgement(n, 10_001, None, None) for n in (1, 2)], "acknowledged_once", "acknowledged for 2 checkouts"),
        (
            [Acknowledgement(1, 10_001, 9_000, "key"), Acknowledgement(2, 10_002, 9_000, "key")],
            "acknowledged_once",
            "checkout 9000/key was acknowledged with 2 orders",
        ),
    ],
)
def test_acknowledged_orders_must_exist_once(
    database: psycopg.Connection, seen: list[Acknowledgement], name: str, sample: str
) -> None:
    change(database, WHOLE)
    findings = broken(database, *seen)
    assert any(sample in text for text in findings[name])


def test_an_acknowledged_order_must_not_be_pending(database: psycopg.Connection) -> None:
    change(database, WHOLE + "UPDATE shop_order.orders SET status = 'PENDING' WHERE id = 10001")
    assert "PENDING" in broken(database, Acknowledgement(1, 10_001, 9_000, "key"))["acknowledged_kept"][0]


def test_an_acknowledged_order_may_have_been_cancelled_since(database: psycopg.Connection) -> None:
    change(
        database,
        WHOLE
        + f"""UPDATE shop_order.orders SET status = 'CANCELLED' WHERE id = 10001;
        UPDATE shop_payment.payment SET status = 'VOIDED' WHERE order_id = 10001;
        UPDATE shop_product.reservation SET state = 'RELEASED' WHERE id = '{NEW}';
        UPDATE shop_product.product SET stock = stock + 3, sold = sold - 3 WHERE id = 9000""",
    )
    assert broken(database, Acknowledgement(1, 10_001, 9_000, "key")) == {}


def test_the_command_prints_what_is_broken(trial: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(trial.url) as database:
        change(database, BROKEN[0][1])
    command, environment = ["audit", "--name", trial.name], {"SHOP_ADMIN_URL": trial.admin_url}
    assert run(command, environment) == 1
    printed = capsys.readouterr().out
    assert "BROKEN" in printed
    assert "stock_conserved: product 5:" in printed
    assert run([*command, "--json"], environment) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["schema"], report["ok"], report["database"]) == (1, False, trial.name)
    assert [item["name"] for item in report["invariants"] if not item["ok"]] == ["stock_conserved"]
