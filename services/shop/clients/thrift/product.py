"""The catalogue as a Thrift client sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Unpack

from shop.clients.pages import pages
from shop.clients.ports import Page
from shop.clients.thrift.channel import ThriftPeer
from shop.messages.product import product_from, reservation_from, review_from, row_from
from shop.messages.structs import document_of, product_struct
from shop.money import Money
from shop.platform.thrift.encoding import MOST_ROWS, build
from shop.stubs.thrift import ttypes as t
from shop.values.product import Document, Product, ProductFields, ProductRow, Reservation, Review, StockLine


class ThriftProductClient:
    """`shop.clients.ports.ProductClient` over Thrift."""

    def __init__(self, peer: ThriftPeer) -> None:
        self._call = peer.call

    async def get_product(self, product_id: int) -> Product:
        return product_from(await self._call("GetProduct", build(t.GetProductRequest, id=product_id)))

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        response = await self._call("BatchGetProducts", build(t.BatchGetProductsRequest, ids=list(ids)))
        return [product_from(product) for product in response.products]

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        request = build(t.ListProductsRequest, page_size=page_size, page_token=page_token, category=category)
        response = await self._call("ListProducts", request)
        return Page(tuple(product_from(product) for product in response.products), response.next_page_token)

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        new = build(
            t.Product,
            "product.",
            title=title,
            description=description,
            category=category,
            price=_money(price),
            stock=stock,
        )
        return product_from(await self._call("CreateProduct", build(t.CreateProductRequest, product=new)))

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **change: Unpack[ProductFields]
    ) -> Product:
        price = change.get("price")
        sent = {**change, "price": _money(price) if price is not None else None}
        new = build(t.Product, "product.", id=product_id, **sent)
        mask = [name for name, value in change.items() if value is not None]
        request = build(t.UpdateProductRequest, product=new, update_mask=mask, expected=_encode_expected(expected))
        return product_from(await self._call("UpdateProduct", request))

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        request = build(t.DeleteProductRequest, id=product_id, expected=_encode_expected(expected))
        await self._call("DeleteProduct", request)

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        request = build(t.BatchListReviewsRequest, product_ids=list(product_ids), limit=limit)
        response = await self._call("BatchListReviews", request)
        return {entry.product_id: tuple(map(review_from, entry.reviews)) for entry in response.products}

    async def get_document(self, document_id: int) -> Document:
        return document_of(await self._call("GetDocument", build(t.GetDocumentRequest, id=document_id)))

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        structs = [
            build(t.StockLine, f"lines[{index}].", product_id=line.product_id, quantity=line.quantity)
            for index, line in enumerate(lines)
        ]
        request = build(t.ReserveStockRequest, reservation_id=reservation_id, lines=structs)
        return reservation_from(await self._call("ReserveStock", request))

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        request = build(t.ConfirmReservationRequest, reservation_id=reservation_id)
        return reservation_from(await self._call("ConfirmReservation", request))

    async def release_reservation(self, reservation_id: str) -> Reservation:
        request = build(t.ReleaseReservationRequest, reservation_id=reservation_id)
        return reservation_from(await self._call("ReleaseReservation", request))

    async def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        async def page(after: int, size: int) -> list[ProductRow]:
            request = build(t.StreamProductRowsRequest, after_product_id=after, limit=size)
            return [row_from(row) for row in (await self._call("StreamProductRows", request)).rows]

        async for row in pages(page, after_product_id, limit, largest=MOST_ROWS, id_of=lambda row: row.product_id):
            yield row


def _encode_expected(product: Product | None) -> t.Product | None:
    return product_struct(product) if product is not None else None


def _money(price: Money) -> t.Money:
    return build(t.Money, "product.price.", amount_minor=price.amount_minor, currency=price.currency)
