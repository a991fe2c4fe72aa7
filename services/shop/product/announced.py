"""The catalogue's tables; every change to them purges answers from a shared cache in front of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from shop.platform.http.caching import CATALOGUE, PRODUCTS
from shop.platform.http.edge_cache import EdgeCache
from shop.product.cached import RecordingStock
from shop.product.domain import NewProduct, ProductChange
from shop.product.ports import ProductStore, StockTransaction
from shop.values.product import Product


class AnnouncedProductStore:
    """The catalogue's tables. A change that failed for the caller also purges: it may have been committed."""

    def __init__(self, store: ProductStore, cache: EdgeCache) -> None:
        self._store = store
        self._cache = cache
        self.get, self.batch_get, self.page, self.reviews = store.get, store.batch_get, store.page, store.reviews
        self.batch_get_with_reviews, self.page_with_reviews = store.batch_get_with_reviews, store.page_with_reviews
        self.rows, self.document = store.rows, store.document

    async def add(self, product: NewProduct) -> Product:
        added = await self._store.add(product)
        self._cache.take_out([PRODUCTS, CATALOGUE])
        return added

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        try:
            return await self._store.change(product_id, change, expected)
        finally:
            self._announce([product_id])

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[StockTransaction]:
        changed: set[int] = set()
        try:
            async with self._store.transaction() as stock:
                yield RecordingStock(stock, changed)
        finally:
            self._announce(changed)

    def _announce(self, product_ids: Iterable[int]) -> None:
        keys = [f"product-{id_}" for id_ in product_ids]
        self._cache.take_out([CATALOGUE, *keys] if keys else [])
