"""The catalogue's tables behind caches: of products by their ids, and of answers in front of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial

from shop.platform.cache.entries import Entries
from shop.platform.http.caching import CATALOGUE, PRODUCTS
from shop.platform.http.edge_cache import EdgeCache
from shop.platform.parallel import both
from shop.product.domain import NewProduct, ProductChange, with_reviews
from shop.product.ports import ProductStore, StockTransaction
from shop.values.product import Product, Reservation, ReservedLine, ReviewedProduct


class CachedProductStore:
    """The catalogue's tables; pages, reviews, rows and documents bypass the cache."""

    def __init__(self, store: ProductStore, products: Entries[Product]) -> None:
        self._store = store
        self._products = products
        self.page, self.add, self.reviews = store.page, store.add, store.reviews
        self.page_with_reviews, self.rows, self.document = store.page_with_reviews, store.rows, store.document
        self.transaction = partial(_recorded, store, products.remove)

    async def get(self, product_id: int) -> Product | None:
        products = await self._products.read([product_id], self._get)
        return products[0] if products else None

    async def batch_get(self, ids: Sequence[int]) -> list[Product]:
        return await self._products.read(ids, self._store.batch_get)

    async def batch_get_with_reviews(self, ids: Sequence[int], review_limit: int) -> list[ReviewedProduct]:
        return with_reviews(*await both(self.batch_get(ids), self.reviews(ids, review_limit)))

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        try:
            return await self._store.change(product_id, change, expected)
        finally:
            # A change that failed for the caller may still have been committed.
            await self._products.remove([product_id])

    async def _get(self, ids: Sequence[int]) -> Sequence[Product]:
        product = await self._store.get(ids[0])
        return [] if product is None else [product]


class AnnouncedProductStore:
    """The catalogue's tables. A change that failed for the caller also purges: it may have been committed."""

    def __init__(self, store: ProductStore, cache: EdgeCache) -> None:
        self._store = store
        self._cache = cache
        self.get, self.batch_get, self.page, self.reviews = store.get, store.batch_get, store.page, store.reviews
        self.batch_get_with_reviews, self.page_with_reviews = store.batch_get_with_reviews, store.page_with_reviews
        self.rows, self.document = store.rows, store.document
        self.transaction = partial(_recorded, store, self._announce)

    async def add(self, product: NewProduct) -> Product:
        try:
            return await self._store.add(product)
        finally:
            self._cache.take_out([PRODUCTS, CATALOGUE])

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        try:
            return await self._store.change(product_id, change, expected)
        finally:
            if change.category is not None:
                self._cache.take_out([PRODUCTS])  # lists of the new category do not have the product's key yet
            await self._announce([product_id])

    async def _announce(self, product_ids: Collection[int]) -> None:
        keys = [f"product-{id_}" for id_ in product_ids]
        self._cache.take_out([CATALOGUE, *keys] if keys else [])


@asynccontextmanager
async def _recorded(
    store: ProductStore, note: Callable[[Collection[int]], Awaitable[None]]
) -> AsyncIterator[StockTransaction]:
    """Opens a transaction; `note` gets the ids of the products that it has changed, even if it has failed."""
    changed: set[int] = set()
    try:
        async with store.transaction() as stock:
            yield RecordingStock(stock, changed)
    finally:
        await note(changed)


class RecordingStock:
    """A transaction that adds the ids of the products that it changes to a set."""

    def __init__(self, stock: StockTransaction, changed: set[int]) -> None:
        self._stock = stock
        self._changed = changed
        self.claim, self.find_locked, self.products_locked = stock.claim, stock.find_locked, stock.products_locked
        # Confirming counts pieces as sold, which callers do not see in a product.
        self.confirm, self.is_held = stock.confirm, stock.is_held

    async def take(self, reservation_id: str, lines: Sequence[ReservedLine]) -> None:
        self._changed.update(line.product_id for line in lines)
        await self._stock.take(reservation_id, lines)

    async def give_back(self, reservation: Reservation) -> None:
        self._changed.update(line.product_id for line in reservation.lines)
        await self._stock.give_back(reservation)

    async def delete(self, product_id: int) -> None:
        self._changed.add(product_id)
        await self._stock.delete(product_id)
