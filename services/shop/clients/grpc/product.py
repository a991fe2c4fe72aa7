"""The catalogue as a gRPC client sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Unpack

import grpc.aio
from google.protobuf.field_mask_pb2 import FieldMask

from shop.clients.ports import Page
from shop.messages.product import (
    document_from,
    product_from,
    product_message,
    reservation_from,
    review_from,
    row_from,
)
from shop.messages.shared import build, money_argument
from shop.money import Money
from shop.platform.grpc.client import Peer
from shop.stubs import product_pb2 as pb
from shop.stubs import product_pb2_grpc
from shop.values.product import Document, Product, ProductFields, ProductRow, Reservation, Review, StockLine


class GrpcProductClient:
    """`shop.clients.ports.ProductClient` over gRPC."""

    def __init__(self, peer: Peer, channel: grpc.aio.Channel) -> None:
        self._peer = peer
        self._stub = product_pb2_grpc.ProductServiceStub(channel)

    async def get_product(self, product_id: int) -> Product:
        request = build(pb.GetProductRequest, id=product_id)
        return product_from(await self._peer.unary(self._stub.GetProduct, "GetProduct", request))

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        request = build(pb.BatchGetProductsRequest, ids=ids)
        response = await self._peer.unary(self._stub.BatchGetProducts, "BatchGetProducts", request)
        return [product_from(product) for product in response.products]

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        request = build(pb.ListProductsRequest, page_size=page_size, page_token=page_token, category=category)
        response = await self._peer.unary(self._stub.ListProducts, "ListProducts", request)
        return Page(tuple(product_from(product) for product in response.products), response.next_page_token)

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        new = build(
            pb.Product,
            "product.",
            title=title,
            description=description,
            category=category,
            price=money_argument(price, "product.price"),
            stock=stock,
        )
        request = build(pb.CreateProductRequest, product=new)
        return product_from(await self._peer.unary(self._stub.CreateProduct, "CreateProduct", request))

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **change: Unpack[ProductFields]
    ) -> Product:
        price = change.get("price")
        sent = {**change, "price": money_argument(price, "product.price") if price is not None else None}
        new = build(pb.Product, "product.", id=product_id, **sent)
        mask = FieldMask(paths=[name for name, value in change.items() if value is not None])
        request = build(pb.UpdateProductRequest, product=new, update_mask=mask, expected=_encode_expected(expected))
        return product_from(await self._peer.unary(self._stub.UpdateProduct, "UpdateProduct", request))

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        request = build(pb.DeleteProductRequest, id=product_id, expected=_encode_expected(expected))
        await self._peer.unary(self._stub.DeleteProduct, "DeleteProduct", request)

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        request = build(pb.BatchListReviewsRequest, product_ids=product_ids, limit=limit)
        response = await self._peer.unary(self._stub.BatchListReviews, "BatchListReviews", request)
        return {entry.product_id: tuple(map(review_from, entry.reviews)) for entry in response.products}

    async def get_document(self, document_id: int) -> Document:
        request = build(pb.GetDocumentRequest, id=document_id)
        return document_from(await self._peer.unary(self._stub.GetDocument, "GetDocument", request))

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        messages = [
            build(pb.StockLine, f"lines[{index}].", product_id=line.product_id, quantity=line.quantity)
            for index, line in enumerate(lines)
        ]
        request = build(pb.ReserveStockRequest, reservation_id=reservation_id, lines=messages)
        return reservation_from(await self._peer.unary(self._stub.ReserveStock, "ReserveStock", request))

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        request = build(pb.ConfirmReservationRequest, reservation_id=reservation_id)
        return reservation_from(await self._peer.unary(self._stub.ConfirmReservation, "ConfirmReservation", request))

    async def release_reservation(self, reservation_id: str) -> Reservation:
        request = build(pb.ReleaseReservationRequest, reservation_id=reservation_id)
        return reservation_from(await self._peer.unary(self._stub.ReleaseReservation, "ReleaseReservation", request))

    async def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        request = build(pb.StreamProductRowsRequest, after_product_id=after_product_id, limit=limit)
        async for chunk in self._peer.stream(self._stub.StreamProductRows, "StreamProductRows", request):
            for row in chunk.rows:
                yield row_from(row)


def _encode_expected(product: Product | None) -> pb.Product | None:
    return product_message(product) if product is not None else None
