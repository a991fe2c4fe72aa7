"""The four services on a seeded database, in this process, with points at which they can be made to crash."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import asyncpg
import psycopg
import pytest

from connect_client import connected
from dataset.audit import Finding, audit
from served_shop import BOOTSTRAPS
from shop.contract.ports import Clients
from shop.order import postgres_orders, postgres_sagas
from shop.order.background import Background
from shop.order.postgres_orders import PostgresOrders
from shop.order.postgres_outbox import Change
from shop.order.postgres_sagas import Driver, PostgresCancellations, PostgresCheckouts
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.sagas.recovery import Recovery
from shop.order.service import OrderService
from shop.payment import postgres as payment_postgres
from shop.platform.config import ServiceConfig
from shop.platform.database.pool import Database, connect_database
from shop.platform.database.statements import Statement
from shop.product import postgres as product_postgres
from shop.user import postgres as user_postgres
from shop.values.order import CheckoutLine, Order

OF_FIRST_ORDERS = {
    "shop_order.orders": "id <= 100",
    "shop_order.order_line": "order_id <= 100",
    "shop_payment.payment": "order_id <= 100",
    "shop_product.reservation": "id IN (SELECT checkout_id FROM shop_order.orders WHERE id <= 100)",
    "shop_product.reservation_line": "reservation_id IN (SELECT checkout_id FROM shop_order.orders WHERE id <= 100)",
}
"""The rows of each table that belong to the first hundred orders."""
COUNT_SOLD = """
UPDATE shop_product.product p SET sold = counted.sold, stocked = p.stock + counted.sold
FROM (
    SELECT p.id, coalesce(sum(l.quantity) FILTER (WHERE o.status IN ('CONFIRMED', 'SHIPPED', 'DELIVERED')), 0) AS sold
    FROM shop_product.product p
    LEFT JOIN shop_order.order_line l ON l.product_id = p.id LEFT JOIN shop_order.orders o ON o.id = l.order_id
    GROUP BY p.id
) counted WHERE counted.id = p.id
"""


class Crash(BaseException):
    """Ends a saga like SIGKILL: nothing in the shop catches it."""


@dataclass
class Fault:
    """A failure that happens once: the named call raises `error`, before or after the call's work."""

    call: str
    error: BaseException
    after: bool = False


@dataclass
class Faults:
    """The calls that a saga made, and the pending faults."""

    planned: list[Fault] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def on(self, name: str, part: Any) -> Any:
        """Puts faults around every method of a part; `name` is the name of the part."""
        return _Faulty(name, part, self)

    def take(self, call: str, *, after: bool) -> None:
        for fault in self.planned:
            if fault.call == call and fault.after is after:
                self.planned.remove(fault)
                raise fault.error


class _Faulty:
    def __init__(self, name: str, part: Any, faults: Faults) -> None:
        self._name, self._part, self._faults = name, part, faults

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = f"{self._name}.{method}"

        async def faulty(*args: Any, **kwargs: Any) -> Any:
            self._faults.calls.append(call)
            self._faults.take(call, after=False)
            answer = await getattr(self._part, method)(*args, **kwargs)
            self._faults.take(call, after=True)
            return answer

        return faulty


@dataclass
class Backends:
    """The dependencies of the order service: the other services' use cases, and its own database."""

    trial: Any
    product: Any
    user: Any
    payment: Any
    database: Database
    instance: str = "here"

    def order(self, faults: Faults | None = None, *, instance: str = "") -> tuple[OrderService, Recovery]:
        """Makes a process of the order service: a new boot each time, of one instance unless `instance` is given."""
        faults = faults or Faults()
        driver = Driver(instance or self.instance, str(uuid.uuid4()))
        orders = PostgresOrders(self.database)
        product, payment = faults.on("product", self.product), faults.on("payment", self.payment)
        checkouts = CheckoutSaga(
            faults.on("checkouts", PostgresCheckouts(self.database, driver)),
            orders,
            product=product,
            user=faults.on("user", self.user),
            payment=payment,
        )
        cancellations = CancellationSaga(
            faults.on("cancellations", PostgresCancellations(self.database, driver)),
            orders,
            product=product,
            payment=payment,
        )
        return OrderService(orders, checkouts, cancellations, Background()), Recovery(checkouts, cancellations)

    def audit(self) -> list[Finding]:
        return broken(self.trial)


def broken(trial: Any) -> list[Finding]:
    """Returns the invariants that the audit finds broken; unfinished sagas count too."""
    return [finding for finding in audit(trial.admin_url, trial.name, grace_s=0.0) if not finding.ok]


@pytest.fixture(scope="module")
def shared_trial(shared_trial: Any, request: pytest.FixtureRequest) -> Any:
    """A seeded shop; with `AUDITED = True`, for tests that audit it repeatedly, only its first hundred orders."""
    if getattr(request.module, "AUDITED", False):
        with contextlib.closing(psycopg.connect(shared_trial.url, autocommit=True)) as admin:
            keep_first_orders(admin)
    return shared_trial


def keep_first_orders(admin: psycopg.Connection) -> None:
    """Empties the tables of orders and refills them: faster than deleting tens of thousands of rows."""
    for number, (table, mine) in enumerate(OF_FIRST_ORDERS.items()):
        admin.execute(f"CREATE TEMPORARY TABLE kept_{number} AS SELECT * FROM {table} WHERE {mine}".encode())
    admin.execute(f"TRUNCATE {', '.join(OF_FIRST_ORDERS)}, shop_order.checkout, shop_order.cancellation".encode())
    for number, table in enumerate(OF_FIRST_ORDERS):
        admin.execute(f"INSERT INTO {table} SELECT * FROM kept_{number}".encode())
    admin.execute(COUNT_SOLD)
    admin.execute("VACUUM ANALYZE")


@pytest.fixture(scope="module")
async def backends(shared_trial: Any, keys: Any) -> AsyncIterator[Backends]:
    """The services that the order service calls directly; the tests of a module share them."""
    services = {}
    async with AsyncExitStack() as stack:
        for name in ("product", "user", "payment"):
            config = ServiceConfig(
                component=name,
                database_url=shared_trial.role_url(name),
                database_pool=2,
                jwt_private_key_file=str(keys.private_file),
            )
            services[name] = await stack.enter_async_context(BOOTSTRAPS[name].bootstrap(config))
        database = await connect_database(shared_trial.role_url("order"), 4)
        stack.push_async_callback(database.close)
        yield Backends(shared_trial, **services, database=database)


@pytest.fixture(scope="module")
async def shop(
    protocol: str, started_shop: Callable[..., Any], shared_trial: Any, counted_statements: Counter[str]
) -> AsyncIterator[Clients]:
    """The four services over one protocol, shared by the tests of a module; every test runs over each protocol.

    For Connect, only the order service is served over it, because components do not call each other over Connect.
    """

    def over(name: str) -> str:
        return "grpc" if protocol == "connect" and name != "order" else protocol

    async with started_shop(shared_trial.role_url, over, pool=4) as peers, connected(peers, "test") as clients:
        yield clients


# Users whom checkouts may change: each test uses a different one, so that keys do not collide.
USERS = iter(range(8_001, 9_901))
LINES = (CheckoutLine(8_001, 2), CheckoutLine(8_002, 1))


@pytest.fixture
def user() -> int:
    return next(USERS)


@pytest.fixture
def buy(user: int) -> Callable[..., Any]:
    """Checks out as this test's user with an order client or service; all arguments are valid by default."""

    async def checkout(
        order: Any, *, key: str = "key", user: int = user, lines: Sequence[CheckoutLine] = LINES, token: str = "tok_ok"
    ) -> Order:
        return await order.checkout(user_id=user, lines=lines, payment_token=token, idempotency_key=key)

    return checkout


@pytest.fixture(scope="module")
def counted_statements() -> Iterator[Counter[str]]:
    """The statements that calls of this module's shop have sent, by the names of their spans."""
    modules = (postgres_orders, postgres_sagas, payment_postgres, product_postgres, user_postgres)
    named = [value for module in modules for value in vars(module).values() if isinstance(value, Statement | Change)]
    names = {each.sql: each.name for one in named for each in ([one] if isinstance(one, Statement) else one)}
    seen: Counter[str] = Counter()

    def count(record: Any) -> None:
        # Not counted: recovery's query every second, and asyncpg's query for types on each new connection.
        if "SKIP LOCKED" not in record.query and "pg_type" not in record.query and "jit" not in record.query:
            seen[names.get(record.query, record.query)] += 1

    async def count_on(connection: Any) -> None:
        connection.add_query_logger(count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncpg, "create_pool", partial(asyncpg.create_pool, init=count_on))
        yield seen


@pytest.fixture
def statements(counted_statements: Counter[str]) -> Counter[str]:
    """The statements that calls of this test's shop have sent, by the names of their spans."""
    counted_statements.clear()
    return counted_statements
