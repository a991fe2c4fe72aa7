"""The catalogue over Thrift: for each method whom it admits, what it does, and what it answers with."""

from __future__ import annotations

from typing import Any

from shop.messages.product import change_from, product_from, stock_line_from
from shop.messages.shared import money_from
from shop.messages.structs import document_struct, product_struct, reservation_struct, reviews_struct, row_struct
from shop.platform.access.rules import Access
from shop.platform.thrift.processor import Method, Processor, collected, rows
from shop.product.service import ProductService
from shop.stubs.thrift import ProductService as ProductServiceStubs
from shop.stubs.thrift import ttypes as t
from shop.values.product import Product


def processor(service: ProductService) -> Processor:
    """Returns what answers the catalogue's messages."""

    async def create(request: Any) -> Product:
        new = request.product
        return await service.create_product(
            title=new.title,
            description=new.description,
            category=new.category,
            price=money_from(new.price),
            stock=new.stock,
        )

    async def update(request: Any) -> Product:
        change = change_from(request.product, request.update_mask)
        return await service.update_product(request.product.id, expected=_decode_expected(request), **change)

    async def delete(request: Any) -> None:
        await service.delete_product(request.id, expected=_decode_expected(request))

    return Processor(
        ProductServiceStubs,
        {
            "GetProduct": Method(Access.EVERYBODY, lambda r: service.get_product(r.id), product_struct),
            "BatchGetProducts": Method(
                Access.EVERYBODY,
                lambda r: service.batch_get_products(r.ids),
                lambda products: t.BatchGetProductsResponse([product_struct(one) for one in products]),
            ),
            "ListProducts": Method(
                Access.EVERYBODY,
                lambda r: service.list_products(page_size=r.page_size, page_token=r.page_token, category=r.category),
                lambda page: t.ListProductsResponse([product_struct(one) for one in page.items], page.next_page_token),
            ),
            "CreateProduct": Method(Access.PARTNER, create, product_struct),
            "UpdateProduct": Method(Access.PARTNER, update, product_struct),
            "DeleteProduct": Method(Access.PARTNER, delete),
            "BatchListReviews": Method(
                Access.EVERYBODY,
                lambda r: service.batch_list_reviews(r.product_ids, limit=r.limit),
                reviews_struct,
            ),
            "GetDocument": Method(Access.EVERYBODY, lambda r: service.get_document(r.id), document_struct),
            "ReserveStock": Method(
                Access.INTERNAL,
                lambda r: service.reserve_stock(r.reservation_id, [stock_line_from(line) for line in r.lines]),
                reservation_struct,
            ),
            "ConfirmReservation": Method(
                Access.INTERNAL, lambda r: service.confirm_reservation(r.reservation_id), reservation_struct
            ),
            "ReleaseReservation": Method(
                Access.INTERNAL, lambda r: service.release_reservation(r.reservation_id), reservation_struct
            ),
            "StreamProductRows": Method(
                Access.EVERYBODY,
                lambda r: collected(
                    service.stream_product_rows(after_product_id=r.after_product_id, limit=rows(r.limit))
                ),
                lambda some: t.StreamProductRowsResponse([row_struct(row) for row in some]),
            ),
        },
    )


def _decode_expected(request: Any) -> Product | None:
    # An absent struct arrives as an empty one; no product has the id 0.
    return product_from(request.expected) if request.expected.id else None
