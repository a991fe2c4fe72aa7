"""Properties of the seeded rows on which the tape and the parity check rely.

The constraints of tables check ranges, and the audit checks that orders, payments and stock belong together.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from itertools import pairwise

import argon2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataset.documents import SIZES, document, documents
from dataset.rows import DEMO_PASSWORD, DEMO_PASSWORD_HASH, Draws, SeededShop

Rows = dict[str, list[list[str]]]

SCALE = 2
# Digest of all rows with seed 1 and scale 1, the same on every machine and with every version of numpy. Changes to the
# seeding code change the digest; this must be a deliberate decision.
DIGEST = "b69b270bea8faeb1feb98adf187e8494ead7d41ef94064fd19346541b66a6f13"


def tables_of(seed: int, scale: int) -> dict[str, str]:
    return {table.name: "".join(table.blocks) for table in SeededShop(seed, scale).tables()}


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The rows of seed 7 at `SCALE`."""
    return {name: [line.split("\t") for line in text.splitlines()] for name, text in tables_of(7, SCALE).items()}


def test_a_seed_gives_the_same_rows_everywhere_and_another_seed_other_rows_with_the_same_ids() -> None:
    one, other = tables_of(1, 1), tables_of(2, 1)
    assert hashlib.sha256("".join(one.values()).encode()).hexdigest() == DIGEST
    assert {name for name in one if one[name] == other[name]} == {"shop_notification.mailbox"}
    assert len(one["shop_order.order_line"].splitlines()) == len(other["shop_order.order_line"].splitlines())


def test_ids_are_contiguous_from_one(rows: Rows) -> None:
    counts = {
        "shop_user.account": 10_000,
        "shop_product.product": 10_000,
        "shop_product.review": 30_000,
        "shop_order.orders": 10_000,
        "shop_order.order_line": 30_000,
        "shop_payment.payment": 10_000,
    }
    for table, count in counts.items():
        assert [int(row[0]) for row in rows[table]] == list(range(1, count * SCALE + 1)), table


def test_a_category_has_a_hundred_products_and_a_product_three_reviews(rows: Rows) -> None:
    for product, title, about, category, price, *_ in rows["shop_product.product"]:
        assert 1 <= len(title) <= 200
        assert 1 <= len(about) <= 4_000
        assert category == f"c{(int(product) - 1) // 100:04d}"
        assert 100 <= int(price) <= 99_999
    for review, product, user, *_ in rows["shop_product.review"]:
        assert 3 * int(product) - 2 <= int(review) <= 3 * int(product)
        assert 1 <= int(user) <= 10_000 * SCALE


def test_regulars_have_ten_orders_each_and_the_pools_of_writes_have_none(rows: Rows) -> None:
    orders = Counter(int(row[1]) for row in rows["shop_order.orders"])
    assert {user: orders[user] for user in range(1, 800 * SCALE + 1)} == dict.fromkeys(range(1, 800 * SCALE + 1), 10)
    assert max(orders) <= 5_000 * SCALE
    for row in rows["shop_order.orders"][: 8_000 * SCALE]:
        assert int(row[1]) == (int(row[0]) - 1) % (800 * SCALE) + 1


def test_regulars_have_a_notification_for_each_of_their_orders(rows: Rows) -> None:
    assert rows["shop_notification.mailbox"] == [[str(user), "10"] for user in range(1, 800 * SCALE + 1)]
    orders = {order: (user, status, placed) for order, user, status, placed, *_ in rows["shop_order.orders"]}
    positions = defaultdict(list)
    for user, position, event, order, status, happened, read in rows["shop_notification.notification"]:
        assert orders[order] == (user, status, happened)
        assert (int(event), read) == (-int(order), "t")
        positions[int(user)].append(int(position))
    assert positions == {user: list(range(1, 11)) for user in range(1, 800 * SCALE + 1)}


def test_orders_are_placed_one_after_another_before_2026(rows: Rows) -> None:
    placed = [row[3] for row in rows["shop_order.orders"]]
    assert placed == sorted(set(placed))
    assert placed[0] >= "2025-01-01T00:00:00+00:00"
    assert placed[-1] < "2026-01-01"
    assert all(len(moment) == len("2025-01-01T00:00:00+00:00") for moment in placed)


def test_lines_stand_by_order_and_number_and_cost_what_their_products_cost(rows: Rows) -> None:
    lines = defaultdict(list)
    for _id, order, number, product, quantity, price in rows["shop_order.order_line"]:
        lines[int(order)].append((int(number), int(product), int(quantity), int(price)))
    prices = {int(row[0]): int(row[4]) for row in rows["shop_product.product"]}
    assert list(lines) == list(range(1, 10_000 * SCALE + 1))
    assert Counter(len(of) for of in lines.values()) == dict.fromkeys(range(1, 6), 2_000 * SCALE)
    for of in lines.values():
        assert [number for number, *_ in of] == list(range(1, len(of) + 1))
        assert all(price == prices[product] for _, product, _, price in of)


def test_many_orders_have_each_status(rows: Rows) -> None:
    seen = Counter(row[2] for row in rows["shop_order.orders"])
    assert set(seen) == {"CONFIRMED", "SHIPPED", "DELIVERED", "CANCELLED"}
    assert min(seen.values()) > 100


def test_accounts_have_an_address_and_the_published_password(rows: Rows) -> None:
    for user, email, *address, password in rows["shop_user.account"]:
        assert email == f"user{user}@example.com"
        assert all(address)
        assert password == DEMO_PASSWORD_HASH


def test_the_published_password_opens_every_seeded_account() -> None:
    hasher = argon2.PasswordHasher.from_parameters(argon2.extract_parameters(DEMO_PASSWORD_HASH))
    assert hasher.verify(DEMO_PASSWORD_HASH, DEMO_PASSWORD)
    assert (hasher.memory_cost, hasher.time_cost, hasher.parallelism) == (19_456, 2, 1)


@given(st.integers(0, 2**63 - 1), st.integers(1, 99), st.just(100) | st.integers(500, 5_000))
def test_document_is_exactly_as_large_as_its_size(seed: int, number: int, size: int) -> None:
    made = document(Draws(seed), number, size)
    plain = json.loads(msgspec.json.encode(made))
    assert len(json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()) == size
    records = [record for section in made.sections for record in section.records]
    assert all(1 <= len(record.text) <= 500 and record.count > 0 and record.value % 1 for record in records)
    titles = [section.title for section in made.sections]
    assert all(one != other for one, other in pairwise(titles))


def test_documents_of_each_size_come_one_after_the_other() -> None:
    made = list(documents(1))
    assert [one.id for one in made] == list(range(1, len(made) + 1))
    sizes = [size for size, count in SIZES.items() for _ in range(count)]
    assert [len(msgspec.json.encode(one)) for one in made] == sizes
