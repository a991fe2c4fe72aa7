"""The seeded shop as rows: the same for the same seed and scale, on every machine and with every version of numpy.

Every value is a hash of the seed, the purpose of the value, and the row's number. So no row depends on the draw of
another, and the data's definition includes no library's random generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from dataset import words

Whole = NDArray[np.int64]

USERS = PRODUCTS = ORDERS = 10_000
REVIEWS_PER_PRODUCT = 3
PRODUCTS_PER_CATEGORY = 100
MAX_LINES = 5
REGULARS, REGULAR_ORDERS = 800, 8_000
"""The regulars placed the first orders, ten each; the others belong to random users of the range after them."""
LAST_OCCASIONAL = 5_000
CURRENCY = "EUR"
FIRST_PLACED = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())
LAST_PLACED = int(datetime(2025, 12, 31, tzinfo=UTC).timestamp())
STATUS_SHARES = (("DELIVERED", 60), ("SHIPPED", 20), ("CONFIRMED", 15), ("CANCELLED", 5))
"""Statuses of 100 orders; they do not depend on an order's age, so that every page of orders shows all kinds."""
DEMO_PASSWORD = "hopwise-demo"  # noqa: S105 - published on purpose
DEMO_PASSWORD_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1"  # noqa: S105
    "$aG9wd2lzZS1kZW1vLXNsdA$Uz9D2jC8VJ+bV6zunwivC+hu3lIRJTNSNjmqDklMa5E"
)
"""The password of all seeded users, and its argon2id hash (m=19456 KiB, t=2, p=1): 10,000 hashes would take minutes."""
BLOCK = 20_000

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the seed: its name, its number of rows, and the rows as text for COPY, in blocks."""

    name: str
    columns: tuple[str, ...]
    count: int
    blocks: Iterator[str]


class Draws:
    """Numbers that depend only on the seed, a purpose and an index (SplitMix64 of a keyed counter).

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def bits(self, purpose: str, index: Whole) -> NDArray[np.uint64]:
        """Returns 64 bits for each index."""
        key = hashlib.blake2b(f"{self._seed}/{purpose}".encode(), digest_size=8).digest()
        with np.errstate(over="ignore"):
            mixed = np.uint64(int.from_bytes(key)) + (index.astype(np.uint64) + np.uint64(1)) * GOLDEN
            mixed = (mixed ^ (mixed >> np.uint64(30))) * MIX_1
            mixed = (mixed ^ (mixed >> np.uint64(27))) * MIX_2
            return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)

    def between(self, purpose: str, index: Whole, low: int, high: int) -> Whole:
        """Returns a number from low to high, both included, for each index."""
        return (self.bits(purpose, index) % np.uint64(high - low + 1)).astype(np.int64) + low


class SeededShop:
    """All rows of one seed and scale.

    Args:
        seed: Any whole number; determines every random value.
        scale: 1 or more; multiplies every count.
    """

    def __init__(self, seed: int, scale: int) -> None:
        self.scale = scale
        self._draws = draws = Draws(seed)
        self.user_ids = np.arange(1, USERS * scale + 1)
        self.product_ids = np.arange(1, PRODUCTS * scale + 1)
        self.review_ids = np.arange(1, REVIEWS_PER_PRODUCT * PRODUCTS * scale + 1)
        self.order_ids = np.arange(1, ORDERS * scale + 1)
        self.regular_ids = np.arange(1, REGULARS * scale + 1)
        self.prices = draws.between("price", self.product_ids, 100, 99_999)
        self.stock = draws.between("stock", self.product_ids, 1_000, 100_000)
        self._order_lines()
        self._orders()
        self.sold = np.bincount(
            self.line_products - 1,
            weights=self.quantities * (self.line_statuses != "CANCELLED"),
            minlength=len(self.product_ids),
        ).astype(np.int64)

    def _order_lines(self) -> None:
        # A shuffled deck of 1 to 5 rather than dice, so that the mean is exactly three lines.
        deck = np.argsort(self._draws.bits("line count", self.order_ids), kind="stable") % MAX_LINES + 1
        self.line_counts = deck.astype(np.int64)
        self.line_orders = np.repeat(self.order_ids, self.line_counts)
        self.line_ids = np.arange(1, len(self.line_orders) + 1)
        first_ids = np.cumsum(self.line_counts) - self.line_counts + 1
        self.line_numbers = self.line_ids - first_ids[self.line_orders - 1] + 1
        # One stride per order: its products differ from each other without repeated draws.
        products = len(self.product_ids)
        start = self._draws.between("first product", self.order_ids, 0, products - 1)
        stride = self._draws.between("product stride", self.order_ids, 1, products // MAX_LINES)
        at = self.line_orders - 1
        self.line_products = (start[at] + stride[at] * self.line_numbers) % products + 1
        self.quantities = self._draws.between("quantity", self.line_ids, 1, 3)
        self.unit_prices = self.prices[self.line_products - 1]

    def _orders(self) -> None:
        ids, scale = self.order_ids, self.scale
        occasional = self._draws.between("user", ids, REGULARS * scale + 1, LAST_OCCASIONAL * scale)
        self.order_users = np.where(ids <= REGULAR_ORDERS * scale, (ids - 1) % (REGULARS * scale) + 1, occasional)
        step = (LAST_PLACED - FIRST_PLACED) // len(ids)
        self.placed = FIRST_PLACED + (ids - 1) * step + self._draws.between("second", ids, 0, step - 1)
        bounds = np.cumsum([share for _, share in STATUS_SHARES])
        drawn = np.searchsorted(bounds, self._draws.between("status", ids, 0, 99), side="right")
        self.statuses = np.array([status for status, _ in STATUS_SHARES])[drawn]
        self.line_statuses = self.statuses[self.line_orders - 1]
        self.totals = np.bincount(
            self.line_orders - 1, weights=self.quantities * self.unit_prices, minlength=len(ids)
        ).astype(np.int64)
        high = self._draws.bits("checkout high", ids) & np.uint64(0xFFFFFFFFFFFF0FFF) | np.uint64(0x4000)
        low = self._draws.bits("checkout low", ids) & np.uint64((1 << 62) - 1) | np.uint64(1 << 63)
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        self.checkout_ids = [f"{left:016x}{right:016x}" for left, right in pairs]

    def _pick(self, purpose: str, index: Whole, choices: tuple[str, ...]) -> list[str]:
        return [choices[at] for at in self._draws.between(purpose, index, 0, len(choices) - 1).tolist()]

    def tables(self) -> list[Table]:
        """Returns every table, in an order that satisfies the foreign keys."""
        money = ("price_minor", "currency")
        return [
            self._table(
                "shop_user.account",
                ("id", "email", "name", "recipient", "street", "city", "postal_code", "country_code", "password_hash"),
                self.user_ids,
                self._users(),
            ),
            self._table(
                "shop_product.product",
                ("id", "title", "description", "category", *money, "stock", "sold", "stocked"),
                self.product_ids,
                self._products(),
            ),
            self._table(
                "shop_product.review",
                ("id", "product_id", "user_id", "rating", "title", "body"),
                self.review_ids,
                self._reviews(),
            ),
            self._table(
                "shop_order.orders",
                ("id", "user_id", "status", "placed_at", "total_minor", "currency", "checkout_id"),
                self.order_ids,
                self._order_rows(),
            ),
            self._table(
                "shop_order.order_line",
                ("id", "order_id", "line_number", "product_id", "quantity", "unit_price_minor"),
                self.line_ids,
                self._line_rows(),
            ),
            self._table(
                "shop_payment.payment",
                ("id", "checkout_id", "order_id", "user_id", "status", "amount_minor", "currency", "placed_at"),
                self.order_ids,
                self._payments(),
            ),
            self._table(
                "shop_product.reservation", ("id", "state", "created_at"), self.order_ids, self._reservations()
            ),
            self._table(
                "shop_product.reservation_line",
                ("reservation_id", "product_id", "quantity", "unit_price_minor", "currency"),
                self.line_ids,
                self._reservation_lines(),
            ),
            self._table("shop_notification.mailbox", ("user_id", "last_position"), self.regular_ids, self._mailboxes()),
            self._table(
                "shop_notification.notification",
                ("user_id", "position", "event_id", "order_id", "status", "happened_at", "read"),
                self.order_ids[: REGULAR_ORDERS * self.scale],
                self._notifications(),
            ),
        ]

    @staticmethod
    def _table(name: str, columns: tuple[str, ...], ids: Whole, rows: Iterable[tuple[object, ...]]) -> Table:
        return Table(name, columns, len(ids), blocks(rows))

    def _users(self) -> Iterator[tuple[object, ...]]:
        first = self._pick("first name", self.user_ids, words.FIRST_NAMES)
        last = self._pick("last name", self.user_ids, words.LAST_NAMES)
        street = self._pick("street", self.user_ids, words.STREETS)
        house = self._draws.between("house", self.user_ids, 1, 199).tolist()
        city = self._draws.between("city", self.user_ids, 0, len(words.CITIES) - 1).tolist()
        code = self._draws.between("postal code", self.user_ids, 0, 99).tolist()
        for at, user in enumerate(self.user_ids.tolist()):
            name = f"{first[at]} {last[at]}"
            town, prefix, country = words.CITIES[city[at]]
            yield (
                user,
                f"user{user}@example.com",
                name,
                name,
                f"{street[at]} {house[at]}",
                town,
                f"{prefix}{code[at]:02d}",
                country,
                DEMO_PASSWORD_HASH,
            )

    def _products(self) -> Iterator[tuple[object, ...]]:
        adjective = self._pick("adjective", self.product_ids, words.ADJECTIVES)
        material = self._pick("material", self.product_ids, words.MATERIALS)
        noun = self._pick("noun", self.product_ids, words.NOUNS)
        use = self._pick("use", self.product_ids, words.USES)
        other = self._pick("other use", self.product_ids, words.USES)
        columns = (self.product_ids.tolist(), self.prices.tolist(), self.stock.tolist(), self.sold.tolist())
        for at, (product, price, stock, sold) in enumerate(zip(*columns, strict=True)):
            title = f"{adjective[at]} {material[at]} {noun[at]}"
            about = (
                f"{title}, number {product} of our range. Made of {material[at].lower()} for {use[at]}; "
                f"it serves {other[at]} as well. Two years of warranty."
            )
            category = f"c{(product - 1) // PRODUCTS_PER_CATEGORY:04d}"
            yield (product, title, about, category, price, CURRENCY, stock, sold, stock + sold)

    def _reviews(self) -> Iterator[tuple[object, ...]]:
        ids = self.review_ids
        author = self._draws.between("author", ids, 1, USERS * self.scale).tolist()
        rating = self._draws.between("rating", ids, 1, 5).tolist()
        verdict = self._draws.between("verdict", ids, 0, 1).tolist()
        first, second = self._pick("remark", ids, words.REMARKS), self._pick("other remark", ids, words.REMARKS)
        for at, review in enumerate(ids.tolist()):
            product = (review - 1) // REVIEWS_PER_PRODUCT + 1
            title = words.VERDICTS[rating[at] - 1][verdict[at]]
            yield (review, product, author[at], rating[at], title, f"{title}. {first[at]} {second[at]}")

    def _order_rows(self) -> Iterator[tuple[object, ...]]:
        columns = (self.order_ids, self.order_users, self.statuses, self.placed, self.totals)
        rows = zip(*(column.tolist() for column in columns), self.checkout_ids, strict=True)
        for order, user, status, placed, total, checkout in rows:
            yield (order, user, status, _instant(placed), total, CURRENCY, checkout)

    def _line_rows(self) -> Iterator[tuple[object, ...]]:
        columns = (self.line_ids, self.line_orders, self.line_numbers, self.line_products, self.quantities)
        return zip(*(column.tolist() for column in columns), self.unit_prices.tolist(), strict=True)

    def _payments(self) -> Iterator[tuple[object, ...]]:
        columns = (self.order_ids, self.order_users, self.statuses, self.placed, self.totals)
        rows = zip(*(column.tolist() for column in columns), self.checkout_ids, strict=True)
        for order, user, status, placed, total, checkout in rows:
            paid = "VOIDED" if status == "CANCELLED" else "CAPTURED"
            yield (order, checkout, order, user, paid, total, CURRENCY, _instant(placed))

    def _reservations(self) -> Iterator[tuple[object, ...]]:
        for status, placed, checkout in zip(
            self.statuses.tolist(), self.placed.tolist(), self.checkout_ids, strict=True
        ):
            yield (checkout, "RELEASED" if status == "CANCELLED" else "CONFIRMED", _instant(placed))

    def _reservation_lines(self) -> Iterator[tuple[object, ...]]:
        columns = (self.line_orders, self.line_products, self.quantities, self.unit_prices)
        for order, product, quantity, price in zip(*(column.tolist() for column in columns), strict=True):
            yield (self.checkout_ids[order - 1], product, quantity, price, CURRENCY)

    def _mailboxes(self) -> Iterator[tuple[object, ...]]:
        for user in self.regular_ids.tolist():
            yield (user, REGULAR_ORDERS // REGULARS)

    def _notifications(self) -> Iterator[tuple[object, ...]]:
        """Yields the regulars' notifications: the status of each of their orders, all read."""
        columns = (self.order_ids, self.order_users, self.statuses, self.placed)
        rows = zip(*(column[: REGULAR_ORDERS * self.scale].tolist() for column in columns), strict=True)
        for at, (order, user, status, placed) in enumerate(rows):
            # The order service numbers its events from 1 on.
            yield (user, at // len(self.regular_ids) + 1, -order, order, status, _instant(placed), "t")


def _instant(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()


def blocks(rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    """Yields rows as text for COPY, in blocks."""
    # No value contains a tab, a line break, or a backslash other than NULL's: joining is all that COPY needs.
    block: list[str] = []
    for row in rows:
        block.append("\t".join(map(str, row)))
        if len(block) == BLOCK:
            yield "\n".join(block) + "\n"
            block.clear()
    if block:
        yield "\n".join(block) + "\n"
