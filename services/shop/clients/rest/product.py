"""The catalogue as a REST client sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Unpack

import msgspec

from shop.clients.ports import Page
from shop.clients.rest.channel import RestPeer, listed, optional
from shop.money import Money
from shop.values.product import Document, Product, ProductFields, ProductRow, Reservation, Review, StockLine

_ID = {"product_id": "id"}
_NEW = {name: f"product.{name}" for name in ("title", "description", "category", "price", "price.", "stock")}
_CHANGE = {**_NEW, "": "update_mask", "product_id": "product.id"}


class _Products(msgspec.Struct):
    products: tuple[Product, ...]
    next_page_token: str


class _ProductReviews(msgspec.Struct):
    product_id: int
    reviews: tuple[Review, ...]


class _Reviews(msgspec.Struct):
    products: list[_ProductReviews]


class _Rows(msgspec.Struct):
    rows: list[ProductRow]


class RestProductClient(RestPeer):
    """`shop.clients.ports.ProductClient` over REST."""

    async def get_product(self, product_id: int) -> Product:
        return await self.get(Product, "/v1/products/{product_id}", product_id, fields=_ID)

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        return list((await self.get(_Products, "/v1/products", query={"ids": listed(ids)})).products)

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        query = {
            "page_size": optional(page_size, 0),
            "page_token": optional(page_token, ""),
            "category": optional(category, ""),
        }
        page = await self.get(_Products, "/v1/products", query=query)
        return Page(page.products, page.next_page_token)

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        new = {"title": title, "description": description, "category": category, "price": price, "stock": stock}
        return await self.send(Product, "POST", "/v1/products", body=new, fields=_NEW)

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **change: Unpack[ProductFields]
    ) -> Product:
        body = {name: value for name, value in change.items() if value is not None}
        headers = await self.if_match(expected, "/v1/products/{product_id}", product_id, kind="product")
        return await self.send(
            Product, "PATCH", "/v1/products/{product_id}", product_id, body=body, headers=headers, fields=_CHANGE
        )

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        headers = await self.if_match(expected, "/v1/products/{product_id}", product_id, kind="product")
        await self.send(type(None), "DELETE", "/v1/products/{product_id}", product_id, headers=headers, fields=_ID)

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        query = {"product_ids": listed(product_ids), "limit": optional(limit, 0)}
        answer = await self.get(_Reviews, "/v1/reviews", query=query)
        return {one.product_id: one.reviews for one in answer.products}

    async def get_document(self, document_id: int) -> Document:
        return await self.get(Document, "/v1/documents/{document_id}", document_id, fields={"document_id": "id"})

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        path = "/v1/reservations/{reservation_id}"
        return await self.send(Reservation, "PUT", path, reservation_id, body={"lines": list(lines)})

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        return await self.send(Reservation, "POST", "/v1/reservations/{reservation_id}:confirm", reservation_id)

    async def release_reservation(self, reservation_id: str) -> Reservation:
        return await self.send(Reservation, "POST", "/v1/reservations/{reservation_id}:release", reservation_id)

    def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        return self.pages(
            _Rows,
            "/v1/product-rows",
            "after_product_id",
            after_product_id,
            limit,
            rows=lambda page: page.rows,
            id_of=lambda row: row.product_id,
        )
