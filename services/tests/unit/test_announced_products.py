"""The keys that a shared cache purges after changes to the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from memory_shop import Data
from memory_stores.product import MemoryProductStore
from shop.errors import DeadlineExceeded
from shop.money import Money
from shop.platform.http.edge_cache import EdgeCache
from shop.product.cached import AnnouncedProductStore
from shop.product.domain import NewProduct, ProductChange
from shop.values.product import Product

LISTS = {"products", "catalogue"}


class RecordedKeys(EdgeCache):
    """Records the keys of the purges, and sends nothing."""

    def __init__(self) -> None:
        super().__init__("")
        self.keys: set[str] = set()

    def take_out(self, keys: Iterable[str]) -> None:
        self.keys.update(keys)


class LateProductStore(MemoryProductStore):
    """A store that adds products, and answers too late."""

    async def add(self, product: NewProduct) -> Product:
        await super().add(product)
        raise DeadlineExceeded("the database did not answer in time")


@pytest.mark.parametrize(
    ("change", "purged"),
    [
        (ProductChange(title="Kettle"), {"catalogue", "product-1"}),
        (ProductChange(category="c2"), LISTS | {"product-1"}),
    ],
)
async def test_a_product_in_another_category_purges_the_lists_too(change: ProductChange, purged: set[str]) -> None:
    cache = RecordedKeys()
    store = AnnouncedProductStore(MemoryProductStore(Data.demo().products), cache)
    assert await store.change(1, change, None) is not None
    assert cache.keys == purged


async def test_a_product_whose_creation_failed_for_the_caller_purges_the_lists() -> None:
    cache = RecordedKeys()
    store = AnnouncedProductStore(LateProductStore(), cache)
    with pytest.raises(DeadlineExceeded):
        await store.add(NewProduct("Kettle", "", "c1", Money(1, "EUR"), 1))
    assert cache.keys == LISTS
