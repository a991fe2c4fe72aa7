"""The catalogue's use cases behind the port of their clients, for adapters that serve the port in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from shop.clients.ports import Page
from shop.money import Money
from shop.product.domain import NewProduct, Product, ProductChange, ProductRow, Review
from shop.product.service import ProductService


class LocalProductClient:
    """`shop.clients.ports.ProductClient` without a protocol in between.

    Args:
        service: What does the work.
    """

    def __init__(self, service: ProductService) -> None:
        self._service = service
        self.get_product = service.get_product
        self.batch_get_products = service.batch_get_products
        self.delete_product = service.delete_product
        self.reserve_stock = service.reserve_stock
        self.confirm_reservation = service.confirm_reservation
        self.release_reservation = service.release_reservation

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        page = await self._service.list_products(page_size=page_size, page_token=page_token, category=category)
        return Page(tuple(page.products), page.next_page_token)

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        return await self._service.create_product(NewProduct(title, description, category, price, stock))

    async def update_product(
        self,
        product_id: int,
        *,
        title: str | None = None,
        description: str | None = None,
        category: str | None = None,
        price: Money | None = None,
        stock: int | None = None,
    ) -> Product:
        return await self._service.update_product(product_id, ProductChange(title, description, category, price, stock))

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        found = await self._service.batch_list_reviews(product_ids, limit=limit)
        return {product_id: tuple(reviews) for product_id, reviews in found.items()}

    async def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        async for rows in self._service.stream_product_rows(after_product_id=after_product_id, limit=limit):
            for row in rows:
                yield row
