"""Faults in the product catalogue, and faults that any component may have."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import count
from threading import Timer

from faulty import calls, process
from faulty.access import admit
from faulty.seeds import Fault, call_before, change_answer, change_arguments, replace
from shop.contract.calls import Access
from shop.platform.read_mask import keep_fields
from shop.product.domain import ProductChange, reserve, reserved_again
from shop.product.postgres import PostgresProductStore
from shop.product.service import ProductService
from shop.values.product import Product, ReservationState

_CALLS = count(1)


def _empty_description(change: ProductChange) -> ProductChange:
    return ProductChange(change.title, change.description or "", change.category, change.price, change.stock)


def _add_a_piece(products: Mapping[int, Product]) -> Mapping[int, Product]:
    return {
        one.id: Product(one.id, one.title, one.description, one.category, one.price, one.stock + 1)
        for one in products.values()
    }


def _die_after_fifty_calls() -> None:
    if next(_CALLS) > 50:
        print("error: no more", file=sys.stderr, flush=True)
        os._exit(7)


FAULTS = (
    *calls.FAULTS,
    calls.IGNORED_EDGE,
    *process.FAULTS,
    Fault(
        "a page begins with the last product of the previous page",
        "pages_of_a_category_hold_every_product_once",
        change_arguments(PostgresProductStore.page, after=lambda last: last - 1),
    ),
    Fault(
        "a batch comes in the order of the ids",
        "batch_keeps_the_requested_order_and_leaves_out_unknown_ids",
        change_answer(ProductService.batch_get_products, lambda products: sorted(products, key=lambda one: one.id)),
    ),
    Fault("read masks change nothing", "a_read_mask_chooses_fields", replace(keep_fields, lambda message, mask: None)),
    Fault(
        "an update clears fields that it does not name",
        "update_changes_the_named_fields_only",
        change_arguments(PostgresProductStore.change, change=_empty_description),
    ),
    Fault(
        "an update overwrites changes that the caller has not read",
        "of_four_changes_of_one_version_one_succeeds",
        change_arguments(PostgresProductStore.change, expected=lambda _read: None),
    ),
    Fault(
        "more stock is reserved than exists",
        "last_pieces_go_to_exactly_as_many_of_100_rivals",
        change_arguments(reserve, products=_add_a_piece),
    ),
    Fault(
        "a reservation that was given back is given out again",
        "after_a_release_nothing_is_reserved_or_confirmed",
        replace(
            reserved_again,
            lambda reservation, lines: (
                reservation if reservation.state is ReservationState.RELEASED else reserved_again(reservation, lines)
            ),
        ),
    ),
    Fault(
        "everyone may add products", "every_method_admits_the_right_callers", admit("CreateProduct", Access.EVERYBODY)
    ),
    Fault("partners may reserve stock", "every_method_admits_the_right_callers", admit("ReserveStock", Access.PARTNER)),
    Fault(
        "each call leaves a file open",
        "many_calls_and_clients_leave_nothing_open",
        call_before(ProductService.get_product, lambda: os.open(os.devnull, os.O_RDONLY)),
    ),
    Fault(
        "each call leaves a thread behind",
        "many_calls_and_clients_leave_nothing_open",
        call_before(ProductService.get_product, lambda: Timer(600, print).start()),
    ),
    Fault(
        "it dies after fifty calls",
        "many_calls_and_clients_leave_nothing_open",
        call_before(ProductService.get_product, _die_after_fifty_calls),
    ),
)
