"""A whole shop in memory, empty or with demo data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from memory_shop.data import DEMO_PASSWORD, Data, checkout_id
from memory_shop.notifications import MemoryNotifications
from memory_shop.record import Record
from memory_stores.order import MemoryCancellations, MemoryCheckouts, MemoryOrders
from memory_stores.payment import MemoryPayments
from memory_stores.product import MemoryProductStore
from memory_stores.user import MemoryUserStore
from shop.contract.calls import SERVICES
from shop.contract.ports import Clients
from shop.notification.service import NotificationService
from shop.order.background import Background
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.service import OrderService
from shop.payment.bank import SimulatedBank
from shop.payment.domain import StoredPayment
from shop.payment.service import PaymentService
from shop.platform.access.jwt import Principal
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.grpc.handlers import handlers_of
from shop.platform.grpc.server import grpc_server
from shop.platform.incoming import Incoming
from shop.product.service import ProductService
from shop.user.service import UserService

Sign = Callable[[int], str]
"""Makes the token for the login of a user id."""


class PlainPasswords:
    """Hashes that take no time, because each is the password itself."""

    async def hash(self, password: str) -> str:
        return password

    async def verify(self, password_hash: str | None, password: str) -> bool:
        return password_hash == password


class Signer:
    """Signs logins with a function that the test provides."""

    def __init__(self, sign: Sign) -> None:
        self._sign = sign

    def sign(self, principal: Principal) -> str:
        return self._sign(principal.id)


class RecordedService:
    """One service as its callers see it; each call is recorded, except calls that the services make themselves.

    A server, which calls the service if it is `served`, reads streams by the chunk.
    """

    def __init__(self, record: Record, services: Mapping[str, Any], name: str, *, served: bool = False) -> None:
        self._record = record
        self._services = services
        self._name = name
        self._served = served

    def __getattr__(self, method: str) -> Callable[..., Any]:
        kind = method.partition("_")[0]
        by_chunk = self._served or kind == "watch"

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._record.note(method)
            return await getattr(self._services[self._name], method)(*args, **kwargs)

        async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            await self._record.note(method)
            async for rows in getattr(self._services[self._name], method)(*args, **kwargs):
                for row in [rows] if by_chunk else rows:
                    yield row

        return stream if kind in ("stream", "watch") else call


class MemoryShop:
    products: MemoryProductStore
    users: MemoryUserStore
    orders: MemoryOrders
    payments: MemoryPayments
    notifications: MemoryNotifications

    def __init__(self, data: Data | None = None, *, sign: Sign = "token-{}".format) -> None:
        self.record = Record()
        self._signer = Signer(sign)
        self._services: dict[str, Any] = {}
        self.fill(data or Data())
        self.clients = Clients(**{name: RecordedService(self.record, self._services, name) for name in self._services})

    def use_cases(self, name: str) -> Any:
        """Returns the use cases of one service, each call recorded, for a server."""
        return RecordedService(self.record, self._services, name, served=True)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serves all services over gRPC, each call recorded, for as long as the context lasts; yields the address."""
        incoming = Incoming(Authenticator(None, trusts_inside=True))
        handlers = {one.full_name: handlers_of(one, self.use_cases(one.name), incoming) for one in SERVICES}
        async with grpc_server("127.0.0.1:0", handlers) as address:
            yield address

    def fill(self, data: Data) -> None:
        """Replaces all data; the clients stay the same."""
        self._gone: set[int] = set()
        self.products = MemoryProductStore(data.products, data.reviews, documents=data.documents)
        self.users = MemoryUserStore((user, DEMO_PASSWORD) for user in data.users)
        self.payments = MemoryPayments(map(StoredPayment, data.payments), self._gone)
        self.orders = MemoryOrders(
            data.orders, ((order.id, checkout_id(order.id)) for order in data.orders), self._gone
        )
        product: Any = ProductService(self.products)
        user: Any = UserService(self.users, PlainPasswords(), self._signer)  # type: ignore[arg-type]
        payment = PaymentService(self.payments, SimulatedBank(0.0))
        order: Any = OrderService(
            self.orders,
            CheckoutSaga(MemoryCheckouts(self.orders), self.orders, product=product, user=user, payment=payment),
            CancellationSaga(MemoryCancellations(self.orders), self.orders, product=product, payment=payment),
            Background(),
        )
        self.notifications = MemoryNotifications(self._gone)
        notification = NotificationService(self.notifications, self.notifications.watchers, Streams(), order, user)
        self._services |= {
            "product": product,
            "user": user,
            "order": order,
            "payment": payment,
            "notification": notification,
        }

    async def delete_user(self, user_id: int) -> None:
        """Removes an account as the service's own call does: the account's things then belong to nobody."""
        await self.users.delete(user_id, None)
        self._gone.add(user_id)
        self.notifications.watchers.wake(user_id)

    async def delete_product(self, product_id: int) -> None:
        async with self.products.transaction() as stock:
            await stock.delete(product_id)
