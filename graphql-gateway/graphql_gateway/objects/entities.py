"""The entities of the graph, and how resolvers read them: customers, orders and products refer to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, Self, TypeAlias, TypeVar, cast

import strawberry

from graphql_gateway.context import Context
from graphql_gateway.objects.connection import Connection, check_first, connect
from graphql_gateway.objects.global_id import global_id
from graphql_gateway.objects.selection import argument, asks_only, find_fields, only
from shop.contract.ports import Page, UserClient
from shop.errors import no_such
from shop.platform.graphql.field import computed_field, field, later
from shop.platform.graphql.scalars import Long, Moment, Money
from shop.values.order import JoinedOrderLine, OrderStatus
from shop.values.order import Order as ShopOrder
from shop.values.order import OrderLine as ShopOrderLine
from shop.values.payment import Payment as ShopPayment
from shop.values.payment import PaymentStatus
from shop.values.product import MAX_REVIEWS, ReviewedProduct
from shop.values.product import Product as ShopProduct
from shop.values.product import Review as ShopReview
from shop.values.user import User as ShopUser

T = TypeVar("T")

DEFAULT_REVIEWS = 3
MAX_ORDERS = 50
MAX_ORDERS_PER_PAGE = 100
_IDENTITY = frozenset({"__typename", "id"})
KNOWN_OF_USER = _IDENTITY | {"orders"}
"""Fields of a user that need no call; the same for the other entities below."""
_KNOWN_OF_PRODUCT = _IDENTITY | {"reviews"}
_KNOWN_OF_ORDER = _IDENTITY | {"payment"}
_KNOWN_BY_LINE = _KNOWN_OF_ORDER | {"status", "placedAt", "user"}
strawberry.enum(OrderStatus, description="How far an order has come.")
strawberry.enum(PaymentStatus, description="How far a payment has come.")


class Reads(Protocol):
    """The services' data that resolvers read by identifier; None stands for things that do not exist."""

    def product(self, number: int, reviews: int = 0, /) -> Awaitable[Product | None]:
        """Returns one product; `reviews` is the number of its reviews that resolvers are about to read."""

    async def product_page(
        self, reviews: int, /, *, page_size: int, page_token: str, category: str
    ) -> Page[ShopProduct]:
        """Returns a page of products; `reviews` means the same as in `product`."""

    def user(self, number: int) -> Awaitable[User | None]:
        """Returns one user."""

    def order(self, number: int) -> Awaitable[Order | None]:
        """Returns one order."""

    def payment_of_order(self, order_number: int) -> Awaitable[Payment | None]:
        """Returns the payment of one order."""

    def reviews(self, product_number: int, first: int) -> Awaitable[list[Review]]:
        """Returns the first reviews of one product."""

    def expect_payment(self, order_number: int) -> None:
        """Announces that a resolver is about to read the payment of an order, while the order is still being read."""

    async def ahead(self, *, products: Iterable[int] = (), payments_of_orders: Iterable[int] = ()) -> None:
        """Reads what resolvers are about to need, so that they have it at once; failures are left to them."""


GatewayInfo: TypeAlias = strawberry.Info[Context[Reads], None]


@strawberry.interface(description="Something that can be fetched by its global identifier.")
class Node:
    """The type of `Query.node`; `number` is the service's own identifier."""

    id: strawberry.ID
    number: strawberry.Private[int]

    @classmethod
    def is_type_of(cls, thing: object, _info: object) -> bool:
        """Tells graphql-core whether a thing is of this type, in a third of the time of Strawberry's own check."""
        return isinstance(thing, cls)

    @classmethod
    def known(cls, number: int) -> Self:
        """Returns an object of which the query selects only fields that need no call."""
        node = cls.__new__(cls)
        node.id = strawberry.ID(global_id(cls.__name__, number))
        node.number = number
        return node


async def existing(reading: Awaitable[T | None], kind: str, number: int) -> T:
    """Returns the result of a read. Raises `NotFound` if there is none."""
    thing = await reading
    if thing is None:
        raise no_such(kind, number)
    return thing


@strawberry.type(description="What one customer thinks of one product.")
class Review:
    id: strawberry.ID
    rating: int = strawberry.field(description="From 1 (worst) to 5 (best).")
    title: str
    body: str
    user_id: strawberry.Private[int]

    @classmethod
    def of(cls, review: ShopReview) -> Review:
        return cls(
            id=strawberry.ID(global_id("Review", review.id)),
            rating=review.rating,
            title=review.title,
            body=review.body,
            user_id=review.user_id,
        )

    @field(description="Who wrote it; null if the account is gone.")
    def author(self, info: GatewayInfo) -> User | None:
        return later(info.context.reads.user(self.user_id))


@strawberry.type(description="One thing that the shop sells.")
class Product(Node):
    title: str
    description: str
    category: str = strawberry.field(description='Category slug, "c0042".')
    price: Money = strawberry.field(description="Of one piece.")
    stock: Long = strawberry.field(description="Pieces that can be sold now.")
    first_reviews: strawberry.Private[Sequence[ShopReview]] = ()
    reviews_read: strawberry.Private[int] = 0

    @classmethod
    def of(cls, product: ShopProduct, reviews: int = 0) -> Product:
        """Returns the service's product as a GraphQL object; `reviews` is how many reviews were read with it."""
        first_reviews = product.reviews if isinstance(product, ReviewedProduct) else None
        return cls(
            id=strawberry.ID(global_id("Product", product.id)),
            title=product.title,
            description=product.description,
            category=product.category,
            price=cast(Money, product.price),
            stock=Long(product.stock),
            number=product.id,
            first_reviews=first_reviews or (),
            reviews_read=0 if first_reviews is None else reviews,
        )

    @field(description=f"The first reviews, by ascending id; `first` is 1 to {MAX_REVIEWS}.")
    def reviews(self, info: GatewayInfo, first: int = DEFAULT_REVIEWS) -> list[Review]:
        if check_first(first, MAX_REVIEWS) <= self.reviews_read:
            return [Review.of(review) for review in self.first_reviews[:first]]
        return later(info.context.reads.reviews(self.number, first))


@strawberry.type(description="A postal address.")
class Address:
    """Has the attributes of `shop.values.user.Address`, so resolvers return the services' values unchanged."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str = strawberry.field(description='ISO 3166-1 alpha-2 code, "DE".')


@strawberry.type(description="A customer. Anyone sees the name; the rest only the customer and partners.")
class User(Node):
    name: str
    user: strawberry.Private[ShopUser]
    # The answer to a login or sign-up shows its own user, though the request came without a token.
    own: strawberry.Private[bool] = False

    @classmethod
    def of(cls, user: ShopUser, *, own: bool = False) -> User:
        """Returns a user; `own` if the request has identified itself as this user by means other than a token."""
        return cls(id=strawberry.ID(global_id("User", user.id)), name=user.name, number=user.id, user=user, own=own)

    def check_owner(self, info: GatewayInfo) -> None:
        """Admits this user and partners."""
        if not self.own:
            info.context.admit(UserClient.get_user, self.number)

    @field(description="Only the customer and partners see it.")
    def email(self, info: GatewayInfo) -> str:
        self.check_owner(info)
        return self.user.email

    @field(description="Where parcels go. Only the customer and partners see it.")
    def address(self, info: GatewayInfo) -> Address:
        self.check_owner(info)
        return cast(Address, self.user.address)

    @field(description=f"Newest first; `first` is 1 to {MAX_ORDERS}. Only the customer and partners see them.")
    async def orders(self, info: GatewayInfo, first: int = 10, after: str | None = None) -> Connection[Order]:
        self.check_owner(info)
        client, number = info.context.clients.order, self.number
        page = await connect(
            lambda size, token: client.list_orders_by_user(number, page_size=size, page_token=token),
            lambda order: Order.of(order, info.context.reads),
            check_first(first, MAX_ORDERS),
            after,
            MAX_ORDERS_PER_PAGE,
        )
        await prepare(info, [edge.node for edge in page.edges], "edges", "node")
        return page


@strawberry.type(description="One product of an order.")
class OrderLine:
    """A line; in the bulk read, its order has only the fields that come with the line."""

    id: strawberry.ID
    quantity: int = strawberry.field(description="Pieces.")
    unit_price: Money = strawberry.field(description="Of one piece when it was bought.")
    line_id: strawberry.Private[int]
    place: strawberry.Private[int | None]
    product_number: strawberry.Private[int]
    parent: strawberry.Private[Order]

    @classmethod
    def of(cls, line: ShopOrderLine | JoinedOrderLine, parent: Order, place: int | None) -> OrderLine:
        """Returns a line of an order, or of the known part of an order; `place` is its number there, if known."""
        return cls(
            id=strawberry.ID(global_id("OrderLine", line.id)),
            quantity=line.quantity,
            unit_price=cast(Money, line.unit_price),
            line_id=line.id,
            place=place,
            product_number=line.product_id,
            parent=parent,
        )

    @computed_field(description="Place in the order, from 1 upwards.")
    def line_number(self) -> int:
        return later(self._find_place()) if self.place is None else self.place

    @computed_field(description="What was bought; null if it was removed from the catalogue since.")
    def product(self) -> Product | None:
        number = self.product_number
        return later(self.parent.reads.product(number)) if self.parent.whole_products else Product.known(number)

    @field(description="The order that it belongs to.")
    def order(self, info: GatewayInfo) -> Order | None:
        if self.parent.whole or asks_only(info, _KNOWN_BY_LINE):
            note_products(info, [self.parent], "lines", "product")
            return self.parent
        return later(_prepared_order(info, self.parent.number))

    async def _find_place(self) -> int:
        order = await existing(self.parent.reads.order(self.parent.number), "order", self.parent.number)
        return next(line.place or 0 for line in order.lines if line.line_id == self.line_id)


@strawberry.type(description="What one customer bought at one time. The customer and partners only.")
class Order(Node):
    status: OrderStatus
    placed_at: Moment
    total: Money
    lines: list[OrderLine] = strawberry.field(description="By line number.")
    user_number: strawberry.Private[int]
    reads: strawberry.Private[Reads]
    whole: strawberry.Private[bool] = False
    # Whether the query selects more of the lines' products than their identifiers: `note_products` finds out.
    whole_products: strawberry.Private[bool] = False

    @classmethod
    def of(cls, order: ShopOrder, reads: Reads) -> Order:
        made = cls(
            id=strawberry.ID(global_id("Order", order.id)),
            status=order.status,
            placed_at=Moment(order.placed_at),
            total=cast(Money, order.total),
            lines=[],
            number=order.id,
            user_number=order.user_id,
            reads=reads,
            whole=True,
        )
        made.lines = [OrderLine.of(line, made, line.line_number) for line in order.lines]
        return made

    @classmethod
    def named(cls, number: int, reads: Reads) -> Order:
        """Returns an order of which the query selects only the identifier and the payment."""
        order = cls.known(number)
        order.reads = reads
        return order

    @classmethod
    def of_line(cls, line: JoinedOrderLine, reads: Reads) -> Order:
        """Returns the part of an order that is known from a line of the bulk read."""
        order = cls.named(line.order_id, reads)
        order.status = line.status
        order.placed_at = Moment(line.placed_at)
        order.user_number = line.user_id
        return order

    @field(description="Who bought; null if the account is gone.")
    def user(self, info: GatewayInfo) -> User | None:
        number = self.user_number
        if not number:
            return None
        return User.known(number) if asks_only(info, KNOWN_OF_USER) else later(info.context.reads.user(number))

    @computed_field(description="Null until the order is paid.")
    def payment(self) -> Payment | None:
        return later(self.reads.payment_of_order(self.number))


def reviews_asked(info: GatewayInfo, *path: str) -> int:
    """Returns the most reviews of a product that the query selects, without refused numbers, at the end of `path`."""
    lengths = [argument(info, node, "first", DEFAULT_REVIEWS) for node in find_fields(info, *path, "reviews")]
    return max((first for first in lengths if isinstance(first, int) and 1 <= first <= MAX_REVIEWS), default=0)


def order_of(info: GatewayInfo, number: int) -> Order | None:
    """Returns the order with this id, without a call if the query selects only its id and payment."""
    if asks_only(info, _KNOWN_OF_ORDER):
        return Order.named(number, info.context.reads)
    return later(_prepared_order(info, number))


async def prepare(info: GatewayInfo, orders: list[Order], *path: str) -> None:
    """Reads ahead what the query selects from a field's orders; `path` leads from the field to the orders."""
    whole_products = note_products(info, orders, *path, "lines", "product")
    await info.context.reads.ahead(
        products=[line.product_number for order in orders for line in order.lines] if whole_products else (),
        payments_of_orders=[order.number for order in orders] if find_fields(info, *path, "payment") else (),
    )


def note_products(info: GatewayInfo, orders: Iterable[Order], *path: str) -> bool:
    """Records in each order, and returns, whether the query selects more of the products than their identifiers.

    Args:
        orders: The orders. What an earlier call recorded for another part of the query stays in force.
        path: GraphQL names of the fields from the current field to the products.
    """
    whole_products = not only(info, find_fields(info, *path), _KNOWN_OF_PRODUCT)
    if whole_products:
        for order in orders:
            order.whole_products = True
    return whole_products


async def _prepared_order(info: GatewayInfo, number: int) -> Order | None:
    order = await info.context.reads.order(number)
    if order is not None:
        await prepare(info, [order])
    return order


@strawberry.type(description="The payment of one order. The customer and partners only.")
class Payment(Node):
    status: PaymentStatus
    amount: Money
    order_number: strawberry.Private[int]

    @classmethod
    def of(cls, payment: ShopPayment) -> Payment:
        return cls(
            id=strawberry.ID(global_id("Payment", payment.id)),
            status=payment.status,
            amount=cast(Money, payment.amount),
            number=payment.id,
            order_number=payment.order_id,
        )

    @field(description="The order that it pays; null until the money is captured.")
    def order(self, info: GatewayInfo) -> Order | None:
        return order_of(info, self.order_number) if self.order_number else None
