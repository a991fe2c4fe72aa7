"""The catalogue as a GraphQL client sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Unpack

from msgspec import structs

from shop.clients.graphql.channel import Document, GraphQLPeer, money
from shop.clients.ports import Page
from shop.money import Money
from shop.values import product as values
from shop.values.product import (
    Product,
    ProductFields,
    ProductRow,
    Reservation,
    ReservationState,
    ReservedLine,
    Review,
    StockLine,
)

_PRODUCT = "{ id title description category price { amountMinor currency } stock }"
_RESERVATION = "{ id state lines { productId quantity unitPrice { amountMinor currency } } }"

GET = Document(f"query GetProduct($id: Long!) {{ product(id: $id) {_PRODUCT} }}")
BATCH_GET = Document(f"query BatchGetProducts($ids: [Long!]!) {{ products(ids: $ids) {_PRODUCT} }}")
LIST = Document(
    "query ListProducts($pageSize: Long!, $pageToken: String!, $category: String!) { productPage(pageSize: $pageSize, "
    f"pageToken: $pageToken, category: $category) {{ products {_PRODUCT} nextPageToken }} }}"
)
CREATE = Document(
    f"mutation CreateProduct($product: NewProductInput!) {{ createProduct(product: $product) {_PRODUCT} }}"
)
UPDATE = Document(
    "mutation UpdateProduct($product: ProductChangeInput!, $expected: ExpectedProductInput) "
    f"{{ updateProduct(product: $product, expected: $expected) {_PRODUCT} }}"
)
DELETE = Document(
    "mutation DeleteProduct($id: Long!, $expected: ExpectedProductInput) "
    "{ deleteProduct(id: $id, expected: $expected) }"
)
REVIEWS = Document(
    "query BatchListReviews($productIds: [Long!]!, $limit: Long!) { reviews(productIds: $productIds, limit: $limit) "
    "{ productId reviews { id productId userId rating title body } } }"
)
DOCUMENT = Document(
    "query GetDocument($id: Long!) { document(id: $id) "
    "{ id sections { title records { text count value ok at price { amountMinor currency } } } } }"
)
RESERVE = Document(
    "mutation ReserveStock($reservationId: String!, $lines: [StockLineInput!]!) { "
    f"reserveStock(reservationId: $reservationId, lines: $lines) {_RESERVATION} }}"
)
CONFIRM = Document(
    "mutation ConfirmReservation($reservationId: String!) { "
    f"confirmReservation(reservationId: $reservationId) {_RESERVATION} }}"
)
RELEASE = Document(
    "mutation ReleaseReservation($reservationId: String!) { "
    f"releaseReservation(reservationId: $reservationId) {_RESERVATION} }}"
)
ROWS = Document(
    "query ProductRows($afterProductId: Long!, $limit: Long!) { productRows(afterProductId: $afterProductId, "
    "limit: $limit) { productId title price { amountMinor currency } stock } }"
)


class GraphQLProductClient(GraphQLPeer):
    """`shop.clients.ports.ProductClient` over GraphQL."""

    async def get_product(self, product_id: int) -> Product:
        return _product(await self.run(GET, id=product_id))

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        return [_product(answer) for answer in await self.run(BATCH_GET, ids=list(ids))]

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        page = await self.run(LIST, page_size=page_size, page_token=page_token, category=category)
        return Page(tuple(_product(answer) for answer in page["products"]), page["nextPageToken"])

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        new = _input(Product(0, title, description, category, price, stock))
        return _product(await self.run(CREATE, product=new))

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **change: Unpack[ProductFields]
    ) -> Product:
        price = change.get("price")
        sent = {"id": product_id, **change, "price": structs.asdict(price) if price is not None else None}
        return _product(await self.run(UPDATE, product=sent, expected=_encode_expected(expected)))

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        await self.run(DELETE, id=product_id, expected=_encode_expected(expected))

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        products = await self.run(REVIEWS, product_ids=list(product_ids), limit=limit)
        return {entry["productId"]: tuple(_review(review) for review in entry["reviews"]) for entry in products}

    async def get_document(self, document_id: int) -> values.Document:
        answer = await self.run(DOCUMENT, id=document_id)
        return values.Document(
            answer["id"],
            tuple(
                values.DocumentSection(section["title"], tuple(map(_record, section["records"])))
                for section in answer["sections"]
            ),
        )

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        asked = [structs.asdict(line) for line in lines]
        return _reservation(await self.run(RESERVE, reservation_id=reservation_id, lines=asked))

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        return _reservation(await self.run(CONFIRM, reservation_id=reservation_id))

    async def release_reservation(self, reservation_id: str) -> Reservation:
        return _reservation(await self.run(RELEASE, reservation_id=reservation_id))

    async def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        async for row in self.pages(ROWS, "after_product_id", "productId", after_product_id, limit):
            yield ProductRow(row["productId"], row["title"], money(row["price"]), row["stock"])


def _input(product: Product) -> dict[str, Any]:
    """Returns a product without its id, as inputs have it."""
    fields = structs.asdict(product)
    del fields["id"]
    return {**fields, "price": structs.asdict(product.price)}


def _encode_expected(product: Product | None) -> dict[str, Any] | None:
    return _input(product) if product is not None else None


def _product(answer: dict[str, Any]) -> Product:
    return Product(
        answer["id"],
        answer["title"],
        answer["description"],
        answer["category"],
        money(answer["price"]),
        answer["stock"],
    )


def _review(answer: dict[str, Any]) -> Review:
    return Review(
        answer["id"], answer["productId"], answer["userId"], answer["rating"], answer["title"], answer["body"]
    )


def _record(answer: dict[str, Any]) -> values.DocumentRecord:
    at, price = answer["at"], answer["price"]
    return values.DocumentRecord(
        answer["text"],
        answer["count"],
        answer["value"],
        answer["ok"],
        None if at is None else datetime.fromisoformat(at),
        None if price is None else money(price),
    )


def _reservation(answer: dict[str, Any]) -> Reservation:
    lines = tuple(
        ReservedLine(line["productId"], line["quantity"], money(line["unitPrice"])) for line in answer["lines"]
    )
    return Reservation(answer["id"], ReservationState(answer["state"]), lines)
