"""The catalogue in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from memory_shop.store import MemoryService, check_batch, check_id, decode_token, page_of
from memory_shop.store import page_size as sized
from shop.clients.ports import Page
from shop.errors import FailedPrecondition, InvalidArgument, NotFound, OutOfStock
from shop.money import Money
from shop.product.domain import Product, ProductRow, Reservation, ReservationState, ReservedLine, Review, StockLine


class MemoryProducts(MemoryService):
    """`ProductClient` over the store."""

    async def get_product(self, product_id: int) -> Product:
        await self.called("get_product")
        check_id(product_id, "id")
        return self._product(product_id)

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        await self.called("batch_get_products")
        products = self.store.products
        return [products[id_] for id_ in check_batch(ids, "ids") if id_ in products]

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        await self.called("list_products")
        size = sized(page_size, 20, 1000)
        scope = f"products:{category}"
        after = decode_token(page_token, scope)
        found = [
            product
            for id_, product in sorted(self.store.products.items())
            if id_ > after and category in ("", product.category)
        ]
        return page_of(found, size, scope, lambda product: product.id)

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        await self.called("create_product")
        return self._keep(Product(max(self.store.products, default=0) + 1, title, description, category, price, stock))

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
        await self.called("update_product")
        given = {"title": title, "description": description, "category": category, "price": price, "stock": stock}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise InvalidArgument(f"nothing to change; give at least one of {', '.join(given)}", field="update_mask")
        return self._keep(replace(self._product(product_id), **changes))  # type: ignore[arg-type]

    async def delete_product(self, product_id: int) -> None:
        await self.called("delete_product")
        self._product(product_id)
        held = [one for one in self.store.reservations.values() if one.state is ReservationState.HELD]
        if any(line.product_id == product_id for one in held for line in one.lines):
            raise FailedPrecondition(f"stock of product {product_id} is reserved; try again once it is not", field="id")
        del self.store.products[product_id]
        for review in [one for one in self.store.reviews.values() if one.product_id == product_id]:
            del self.store.reviews[review.id]

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, tuple[Review, ...]]:
        await self.called("batch_list_reviews")
        if not 0 <= limit <= 20:
            raise InvalidArgument(f"limit is {limit}; 1 to 20 are valid, 0 means 3", field="limit")
        found: dict[int, list[Review]] = {id_: [] for id_ in check_batch(product_ids, "product_ids")}
        for _, review in sorted(self.store.reviews.items()):
            reviews = found.get(review.product_id)
            if reviews is not None and len(reviews) < (limit or 3):
                reviews.append(review)
        return {id_: tuple(reviews) for id_, reviews in found.items()}

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        await self.called("reserve_stock")
        known = self.store.reservations.get(reservation_id)
        if known is not None:
            if known.state is ReservationState.RELEASED or _lines(known.lines) != _lines(lines):
                raise FailedPrecondition("the reservation is released or has other lines", field="reservation_id")
            return known
        reserved = []
        for position, line in enumerate(lines):
            product = self._product(line.product_id)
            if product.stock < line.quantity:
                raise OutOfStock(
                    f"product {product.id} has {product.stock} pieces, not {line.quantity}",
                    field=f"lines[{position}].quantity",
                )
            reserved.append(ReservedLine(product.id, line.quantity, product.price))
        self._move(reserved, -1)
        return self._state(Reservation(reservation_id, ReservationState.HELD, tuple(reserved)))

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        await self.called("confirm_reservation")
        known = self.store.reservations.get(reservation_id)
        if known is None:
            raise NotFound(f"there is no reservation {reservation_id}", field="reservation_id")
        if known.state is ReservationState.RELEASED:
            raise FailedPrecondition("the reservation was released", field="reservation_id")
        return self._state(replace(known, state=ReservationState.CONFIRMED))

    async def release_reservation(self, reservation_id: str) -> Reservation:
        await self.called("release_reservation")
        known = self.store.reservations.get(reservation_id, Reservation(reservation_id, ReservationState.RELEASED, ()))
        if known.state is not ReservationState.RELEASED:
            self._move(known.lines, 1)
        return self._state(replace(known, state=ReservationState.RELEASED))

    async def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        await self.called("stream_product_rows")
        rows = [product for id_, product in sorted(self.store.products.items()) if id_ > after_product_id]
        for product in rows[: limit or 1000]:
            yield ProductRow(product.id, product.title, product.price, product.stock)

    def _product(self, product_id: int) -> Product:
        product = self.store.products.get(product_id)
        if product is None:
            raise NotFound(f"there is no product {product_id}", field="id")
        return product

    def _keep(self, product: Product) -> Product:
        self.store.products[product.id] = product
        return product

    def _state(self, reservation: Reservation) -> Reservation:
        self.store.reservations[reservation.id] = reservation
        return reservation

    def _move(self, lines: Sequence[ReservedLine], sign: int) -> None:
        for line in lines:
            product = self.store.products.get(line.product_id)
            if product is not None:
                self._keep(replace(product, stock=product.stock + sign * line.quantity))


def _lines(lines: Sequence[StockLine | ReservedLine]) -> list[tuple[int, int]]:
    return [(line.product_id, line.quantity) for line in lines]
