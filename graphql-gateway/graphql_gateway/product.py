"""The catalogue: products, their reviews, and technical documents."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

import strawberry

from graphql_gateway.objects.connection import Connection, check_first, connect
from graphql_gateway.objects.entities import GatewayInfo, Product, existing, reviews_asked
from graphql_gateway.objects.global_id import global_id, number_of
from shop.contract.ports import Catalogue, Page
from shop.errors import InvalidArgument
from shop.platform.graphql.field import field
from shop.platform.graphql.scalars import Long, Moment, Money, MoneyInput
from shop.values import product as values

MAX_PRODUCTS = 100
MAX_PER_PAGE = 2 * MAX_PRODUCTS
"""Largest page to request, for a cursor inside another page: the cost of a document counts only `first`."""


@strawberry.type(description="One test of a technical document.")
class DocumentRecord:
    """Has the attributes of the service's record, so that resolvers return records, and whole sections, unchanged."""

    text: str
    count: Long = strawberry.field(description="Pieces that were tested.")
    value: float = strawberry.field(description="What was measured, in the unit of its section.")
    ok: bool = strawberry.field(description="Whether the value is within its limits.")
    at: Moment | None = strawberry.field(description="When it was measured; null if that is not known.")
    price: Money | None = strawberry.field(description="What the test cost; null if that is not known.")


@strawberry.type(description="The records of a technical document below one heading.")
class DocumentSection:
    title: str
    records: list[DocumentRecord]


@strawberry.type(description="A technical document: the records of tests, in sections.")
class Document:
    id: strawberry.ID
    sections: list[DocumentSection]

    @classmethod
    def of(cls, document: values.Document) -> Document:
        return cls(
            id=strawberry.ID(global_id("Document", document.id)),
            sections=cast(list[DocumentSection], document.sections),
        )


@strawberry.input
class CreateProductInput:
    """A new product."""

    title: str
    description: str = ""
    category: str
    price: MoneyInput
    stock: Long


@strawberry.input
class ExpectedProductInput:
    """A product as the caller read it; PRECONDITION_FAILED if it has changed since."""

    title: str
    description: str
    category: str
    price: MoneyInput
    stock: Long

    def to_shop(self, number: int) -> values.Product:
        return values.Product(number, self.title, self.description, self.category, self.price.to_shop(), self.stock)


@strawberry.input
class UpdateProductInput:
    """Changes of a product; fields that are left out stay as they are."""

    id: strawberry.ID
    expected: ExpectedProductInput | None = strawberry.field(
        default=None, description="Needed to change `stock`, which customers change, too."
    )
    title: str | None = None
    description: str | None = None
    category: str | None = None
    price: MoneyInput | None = None
    stock: Long | None = None


@strawberry.input
class DeleteProductInput:
    """The product to remove."""

    id: strawberry.ID
    expected: ExpectedProductInput | None = None


@strawberry.type
class ProductPayload:
    """The product as it is now."""

    product: Product


@strawberry.type
class DeleteProductPayload:
    """The identifier of the removed product."""

    deleted_id: strawberry.ID


@strawberry.type
class ProductQuery:
    """The fields of `Query` that read the catalogue."""

    @field(description="One product; NOT_FOUND if there is none.")
    async def product(self, info: GatewayInfo, id: strawberry.ID) -> Product | None:  # noqa: A002
        number = number_of(id, "Product")
        info.context.shown.add(number)
        return await existing(info.context.reads.product(number, reviews_asked(info)), "product", number)

    @field(description=f"Products by ascending id; `first` is 1 to {MAX_PRODUCTS}.")
    async def products(
        self, info: GatewayInfo, first: int = 20, after: str | None = None, category: str | None = None
    ) -> Connection[Product]:
        reads, reviews = info.context.reads, reviews_asked(info, "edges", "node")

        def fetch(size: int, token: str) -> Awaitable[Page[values.Product]]:
            # A page that begins inside another skips the products before it, so their reviews are not read.
            together = reviews if size == first else 0
            return reads.product_page(together, page_size=size, page_token=token, category=category or "")

        def show(product: values.Product) -> Product:
            info.context.shown.add(product.id)
            return Product.of(product, reviews)

        return await connect(fetch, show, check_first(first, MAX_PRODUCTS), after, MAX_PER_PAGE)

    @field(description="One technical document; NOT_FOUND if there is none.")
    async def document(self, info: GatewayInfo, id: strawberry.ID) -> Document | None:  # noqa: A002
        return Document.of(await info.context.clients.product.get_document(number_of(id, "Document")))


@strawberry.type
class ProductMutation:
    """The fields of `Mutation` that change the catalogue."""

    @field(description="Adds a product. Partners only.")
    async def create_product(self, info: GatewayInfo, input: CreateProductInput) -> ProductPayload:  # noqa: A002
        info.context.admit(Catalogue.create_product)
        made = await info.context.clients.product.create_product(
            title=input.title,
            description=input.description,
            category=input.category,
            price=input.price.to_shop(),
            stock=input.stock,
        )
        return ProductPayload(product=Product.of(made))

    @field(description="Changes a product. Partners only.")
    async def update_product(self, info: GatewayInfo, input: UpdateProductInput) -> ProductPayload:  # noqa: A002
        info.context.admit(Catalogue.update_product)
        number = number_of(input.id, "Product", "input.id")
        changes = (input.title, input.description, input.category, input.price, input.stock)
        if all(change is None for change in changes):
            raise InvalidArgument(
                "nothing to change; give at least one of title, description, category, price, stock", field="input"
            )
        changed = await info.context.clients.product.update_product(
            number,
            expected=input.expected.to_shop(number) if input.expected else None,
            title=input.title,
            description=input.description,
            category=input.category,
            price=input.price.to_shop() if input.price else None,
            stock=input.stock,
        )
        return ProductPayload(product=Product.of(changed))

    @field(description="Removes a product and its reviews. Partners only.")
    async def delete_product(self, info: GatewayInfo, input: DeleteProductInput) -> DeleteProductPayload:  # noqa: A002
        info.context.admit(Catalogue.delete_product)
        number = number_of(input.id, "Product", "input.id")
        expected = input.expected.to_shop(number) if input.expected else None
        await info.context.clients.product.delete_product(number, expected=expected)
        return DeleteProductPayload(deleted_id=input.id)
