"""The catalogue over GraphQL: decodes, calls, encodes. The types have the attributes of the value types."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, TypeAlias, cast

import strawberry

from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.field import field
from shop.platform.graphql.money import Money, MoneyInput
from shop.platform.graphql.scalars import Long, Moment
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import ServiceContext, graphql_app
from shop.platform.incoming import Incoming
from shop.product.service import MOST_ROWS, ProductService
from shop.values import product as values
from shop.values.product import ReservationState

ROWS_A_PAGE = 2_000

Info: TypeAlias = strawberry.Info[ServiceContext[ProductService], None]

_ZERO = Long(0)

strawberry.enum(ReservationState, description="How far a reservation of stock has come.")


@strawberry.type
class Product:
    """One thing that the shop sells."""

    id: Long
    title: str
    description: str
    category: str
    price: Money
    stock: Long


@strawberry.type
class ProductPage:
    """One page of the catalogue."""

    products: list[Product]
    next_page_token: str


@strawberry.type
class Review:
    """What one customer thinks of one product."""

    id: Long
    product_id: Long
    user_id: Long
    rating: Long
    title: str
    body: str


@strawberry.type
class ReviewedProduct(Product):
    """A product with its first reviews."""

    reviews: list[Review]


@strawberry.type
class ReviewedProductPage:
    """One page of the catalogue, with reviews."""

    products: list[ReviewedProduct]
    next_page_token: str


@strawberry.type
class ProductReviews:
    """The first reviews of one product."""

    product_id: Long
    reviews: list[Review]


@strawberry.type
class ReservedLine:
    """One line of a reservation."""

    product_id: Long
    quantity: Long
    unit_price: Money


@strawberry.type
class Reservation:
    """Stock held for one checkout."""

    id: str
    state: ReservationState
    lines: list[ReservedLine]


@strawberry.type
class ProductRow:
    """A product at the size of an order line."""

    product_id: Long
    title: str
    price: Money
    stock: Long


@strawberry.type
class DocumentRecord:
    """One test of a technical document; what is not known is null."""

    text: str
    count: Long
    value: float
    ok: bool
    at: Moment | None
    price: Money | None


@strawberry.type
class DocumentSection:
    """The records of a technical document below one heading."""

    title: str
    records: list[DocumentRecord]


@strawberry.type
class Document:
    """A technical document of the catalogue: the records of tests, in sections."""

    id: Long
    sections: list[DocumentSection]


@strawberry.input
class NewProductInput:
    """What a new product is."""

    title: str
    description: str
    category: str
    price: MoneyInput
    stock: Long


@strawberry.input
class ProductChangeInput:
    """What changes of a product; whatever is left out stays."""

    id: Long
    title: str | None = None
    description: str | None = None
    category: str | None = None
    price: MoneyInput | None = None
    stock: Long | None = None


@strawberry.input
class ExpectedProductInput(NewProductInput):
    """A product as the caller read it."""

    def to_value(self, product_id: int) -> values.Product:
        """Returns the product with its id."""
        return values.Product(product_id, self.title, self.description, self.category, self.price.to_shop(), self.stock)


@strawberry.input
class StockLineInput:
    """One product to reserve."""

    product_id: Long
    quantity: Long


@strawberry.type
class Query:
    """What can be read."""

    @field(description="One product; NOT_FOUND if there is none.")
    async def product(self, info: Info, id: Long) -> Product:  # noqa: A002
        return cast(Product, await info.context.service.get_product(id))

    @field(description="The products that exist, in the order asked for.")
    async def products(self, info: Info, ids: list[Long]) -> list[Product]:
        return cast(list[Product], await info.context.service.batch_get_products(ids))

    @field(description="A page of one category, or of all.")
    async def product_page(
        self, info: Info, page_size: Long = _ZERO, page_token: str = "", category: str = ""
    ) -> ProductPage:
        page = await info.context.service.list_products(page_size=page_size, page_token=page_token, category=category)
        return ProductPage(products=cast(list[Product], page.items), next_page_token=page.next_page_token)

    @field(description="The products that exist with their first reviews, in the order of the ids.")
    async def products_with_reviews(
        self, info: Info, ids: list[Long], review_limit: Long = _ZERO
    ) -> list[ReviewedProduct]:
        products = await info.context.service.batch_get_products_with_reviews(ids, review_limit=review_limit)
        return cast(list[ReviewedProduct], products)

    @field(description="A page of one category, or of all, with reviews.")
    async def product_page_with_reviews(
        self,
        info: Info,
        page_size: Long = _ZERO,
        page_token: str = "",
        category: str = "",
        review_limit: Long = _ZERO,
    ) -> ReviewedProductPage:
        page = await info.context.service.list_products_with_reviews(
            page_size=page_size, page_token=page_token, category=category, review_limit=review_limit
        )
        products = cast(list[ReviewedProduct], page.items)
        return ReviewedProductPage(products=products, next_page_token=page.next_page_token)

    @field(description="The first reviews of each product asked for.")
    async def reviews(self, info: Info, product_ids: list[Long], limit: Long = _ZERO) -> list[ProductReviews]:
        reviews_of = await info.context.service.batch_list_reviews(product_ids, limit=limit)
        return [
            ProductReviews(product_id=Long(product_id), reviews=cast(list[Review], reviews))
            for product_id, reviews in reviews_of.items()
        ]

    @field(description=f"Product rows by ascending id: `limit`, but no more than {ROWS_A_PAGE} a page.")
    async def product_rows(self, info: Info, after_product_id: Long = _ZERO, limit: Long = _ZERO) -> list[ProductRow]:
        asked = min(limit, ROWS_A_PAGE) if limit <= MOST_ROWS else limit
        chunks: Any = info.context.service.stream_product_rows(after_product_id=after_product_id, limit=asked)
        async with aclosing(chunks):
            return [cast(ProductRow, row) async for chunk in chunks for row in chunk]

    @field(description="One technical document; NOT_FOUND if there is none.")
    async def document(self, info: Info, id: Long) -> Document:  # noqa: A002
        return cast(Document, await info.context.service.get_document(id))


@strawberry.type
class Mutation:
    """What can be changed."""

    @field(description="Adds a product.")
    async def create_product(self, info: Info, product: NewProductInput) -> Product:
        made = await info.context.service.create_product(
            title=product.title,
            description=product.description,
            category=product.category,
            price=product.price.to_shop(),
            stock=product.stock,
        )
        return cast(Product, made)

    @field(description="Changes the fields that are given; PRECONDITION_FAILED if the product is not as expected.")
    async def update_product(
        self, info: Info, product: ProductChangeInput, expected: ExpectedProductInput | None = None
    ) -> Product:
        changed = await info.context.service.update_product(
            product.id,
            expected=expected.to_value(product.id) if expected is not None else None,
            title=product.title,
            description=product.description,
            category=product.category,
            price=product.price.to_shop() if product.price is not None else None,
            stock=product.stock,
        )
        return cast(Product, changed)

    @field(description="Removes a product; PRECONDITION_FAILED if it is not as expected.")
    async def delete_product(
        self,
        info: Info,
        id: Long,  # noqa: A002
        expected: ExpectedProductInput | None = None,
    ) -> bool:
        await info.context.service.delete_product(id, expected=expected.to_value(id) if expected is not None else None)
        return True

    @field(description="Takes stock until it is confirmed or released; idempotent.")
    async def reserve_stock(self, info: Info, reservation_id: str, lines: list[StockLineInput]) -> Reservation:
        asked = [values.StockLine(line.product_id, line.quantity) for line in lines]
        return cast(Reservation, await info.context.service.reserve_stock(reservation_id, asked))

    @field(description="Turns held stock into sold stock; idempotent.")
    async def confirm_reservation(self, info: Info, reservation_id: str) -> Reservation:
        return cast(Reservation, await info.context.service.confirm_reservation(reservation_id))

    @field(description="Gives stock back; idempotent.")
    async def release_reservation(self, info: Info, reservation_id: str) -> Reservation:
        return cast(Reservation, await info.context.service.release_reservation(reservation_id))


def build_app(service: ProductService, incoming: Incoming) -> Endpoint:
    """Returns the catalogue's GraphQL application."""
    return graphql_app(Schema(query=Query, mutation=Mutation), service, incoming)
