"""Faults in orders and their sagas."""

from __future__ import annotations

from types import SimpleNamespace

from faulty.access import NOTE_METHOD, forget_owner
from faulty.seeds import Fault, change_answer, change_arguments, change_result, replace
from shop.money import Money
from shop.order.checkout_states import Step, compensations, request_hash
from shop.order.domain import Purchase, purchase
from shop.order.postgres_orders import PostgresOrders
from shop.order.sagas.cancellation import CancellationSaga


async def _keep_stock(_checkout_id: str) -> None: ...


def _forget_quantities(bought: Purchase) -> Purchase:
    total = sum(line.unit_price.amount_minor for line in bought.lines)
    return Purchase(bought.lines, Money(total, bought.total.currency))


FAULTS = (
    Fault(
        "a key is good for another purchase",
        "the_same_key_with_another_body_is_refused",
        replace(request_hash, lambda lines, payment_token: bytes(32)),
    ),
    Fault(
        "a declined card keeps its stock",
        "a_refused_checkout_buys_nothing_and_is_refused_again",
        replace(compensations, lambda step: () if step is Step.RESERVE else compensations(step)),
    ),
    Fault(
        "a cancelled order keeps its stock",
        "cancelling_returns_stock_and_money",
        change_arguments(
            CancellationSaga.__init__, product=lambda _client: SimpleNamespace(release_reservation=_keep_stock)
        ),
    ),
    Fault(
        "customers see other customers' orders",
        "a_customers_things_are_closed_to_others",
        forget_owner(NOTE_METHOD, "/GetOrder"),
    ),
    Fault(
        "orders are listed oldest first",
        "pages_of_a_user_are_newest_first",
        change_answer(PostgresOrders.of_user, lambda orders: orders[::-1]),
    ),
    Fault(
        "the total forgets quantities",
        "a_checkout_gives_a_confirmed_order_that_is_paid",
        change_result(purchase, _forget_quantities),
    ),
)
