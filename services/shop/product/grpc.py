"""The catalogue over gRPC: decodes, calls, encodes."""

# The methods' names and arguments are the contract's.
# ruff: noqa: N802, ARG002

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
from google.protobuf.empty_pb2 import Empty

from shop.messages.product import (
    change_from,
    document_message,
    product_from,
    product_message,
    reservation_message,
    review_message,
    row_message,
    section_message,
    stock_line_from,
)
from shop.messages.shared import money_from
from shop.platform.access.rules import Access, admits
from shop.product.service import ProductService
from shop.stubs import product_pb2 as pb
from shop.stubs import product_pb2_grpc

SERVICE = pb.DESCRIPTOR.services_by_name["ProductService"].full_name


class ProductServicer(product_pb2_grpc.ProductServiceServicer):
    """Answers the calls of shop.product.v1.ProductService."""

    def __init__(self, service: ProductService) -> None:
        self._service = service

    @admits(Access.EVERYBODY)
    async def GetProduct(self, request: pb.GetProductRequest, context: Any) -> pb.Product:
        return product_message(await self._service.get_product(request.id))

    @admits(Access.EVERYBODY)
    async def BatchGetProducts(self, request: pb.BatchGetProductsRequest, context: Any) -> pb.BatchGetProductsResponse:
        products = await self._service.batch_get_products(request.ids)
        return pb.BatchGetProductsResponse(products=map(product_message, products))

    @admits(Access.EVERYBODY)
    async def ListProducts(self, request: pb.ListProductsRequest, context: Any) -> pb.ListProductsResponse:
        page = await self._service.list_products(
            page_size=request.page_size, page_token=request.page_token, category=request.category
        )
        return pb.ListProductsResponse(products=map(product_message, page.items), next_page_token=page.next_page_token)

    @admits(Access.PARTNER)
    async def CreateProduct(self, request: pb.CreateProductRequest, context: Any) -> pb.Product:
        new = request.product
        product = await self._service.create_product(
            title=new.title,
            description=new.description,
            category=new.category,
            price=money_from(new.price),
            stock=new.stock,
        )
        return product_message(product)

    @admits(Access.PARTNER)
    async def UpdateProduct(self, request: pb.UpdateProductRequest, context: Any) -> pb.Product:
        change = change_from(request.product, request.update_mask.paths)
        expected = product_from(request.expected) if request.HasField("expected") else None
        return product_message(await self._service.update_product(request.product.id, expected=expected, **change))

    @admits(Access.PARTNER)
    async def DeleteProduct(self, request: pb.DeleteProductRequest, context: Any) -> Empty:
        expected = product_from(request.expected) if request.HasField("expected") else None
        await self._service.delete_product(request.id, expected=expected)
        return Empty()

    @admits(Access.EVERYBODY)
    async def BatchListReviews(self, request: pb.BatchListReviewsRequest, context: Any) -> pb.BatchListReviewsResponse:
        reviews_of = await self._service.batch_list_reviews(request.product_ids, limit=request.limit)
        return pb.BatchListReviewsResponse(
            products=[
                pb.ProductReviews(product_id=product_id, reviews=map(review_message, reviews))
                for product_id, reviews in reviews_of.items()
            ]
        )

    @admits(Access.INTERNAL)
    async def ReserveStock(self, request: pb.ReserveStockRequest, context: Any) -> pb.Reservation:
        lines = [stock_line_from(line) for line in request.lines]
        return reservation_message(await self._service.reserve_stock(request.reservation_id, lines))

    @admits(Access.INTERNAL)
    async def ConfirmReservation(self, request: pb.ConfirmReservationRequest, context: Any) -> pb.Reservation:
        return reservation_message(await self._service.confirm_reservation(request.reservation_id))

    @admits(Access.INTERNAL)
    async def ReleaseReservation(self, request: pb.ReleaseReservationRequest, context: Any) -> pb.Reservation:
        return reservation_message(await self._service.release_reservation(request.reservation_id))

    @admits(Access.EVERYBODY)
    async def StreamProductRows(
        self, request: pb.StreamProductRowsRequest, context: Any
    ) -> AsyncIterator[pb.StreamProductRowsResponse]:
        chunks = self._service.stream_product_rows(after_product_id=request.after_product_id, limit=request.limit)
        async for rows in chunks:
            yield pb.StreamProductRowsResponse(rows=map(row_message, rows))

    @admits(Access.EVERYBODY)
    async def GetDocument(self, request: pb.GetDocumentRequest, context: Any) -> pb.Document:
        return document_message(await self._service.get_document(request.id))

    @admits(Access.EVERYBODY)
    async def StreamDocument(
        self, request: pb.StreamDocumentRequest, context: Any
    ) -> AsyncIterator[pb.StreamDocumentResponse]:
        async for sections in self._service.stream_document(request.id):
            yield pb.StreamDocumentResponse(sections=map(section_message, sections))


def register(server: grpc.aio.Server, service: ProductService) -> list[str]:
    """Adds the catalogue to a server; returns the full names of its services."""
    product_pb2_grpc.add_ProductServiceServicer_to_server(ProductServicer(service), server)
    return [SERVICE]
