"""A crash, or a call with an unknown outcome, at every moment of a saga.

A crash ends the saga on the spot, as SIGKILL does; then the next boot of the same process recovers. After a crash at
any moment, the audit must find nothing broken and nothing under way, and the same key must give one order.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from shop.errors import Conflict, PaymentDeclined, ShopError, Unavailable
from shop.order.bootstrap import bootstrap
from shop.platform.config import ConfigError, ServiceConfig
from shop.values.order import OrderStatus

from .conftest import Crash, Fault, Faults

AUDITED = True
Buy = Callable[..., Any]
Count = Callable[[], int]

FORWARD = (
    *("checkouts.claim", "user.get_user", "product.reserve_stock", "checkouts.advance"),
    *("payment.authorize_payment", "checkouts.place"),
    *("product.confirm_reservation", "payment.capture_payment", "checkouts.complete"),
)
# The calls after a declined payment.
BACKWARD = ("checkouts.start_undo", "product.release_reservation", "checkouts.fail")
CANCELLING = ("cancellations.begin", "payment.void_payment", "product.release_reservation", "cancellations.complete")
MOMENTS = [pytest.param(False, id="before"), pytest.param(True, id="after")]


@pytest.fixture
def order_count(backends: Any, user: int) -> Count:
    def count() -> int:
        with psycopg.connect(backends.trial.url) as admin:
            [(orders,)] = admin.execute("SELECT count(*) FROM shop_order.orders WHERE user_id = %s", [user])
        return int(orders)

    return count


async def crash(buy: Buy, backends: Any, call: str, after: bool = False, instance: str = "", **bought: Any) -> None:
    """Makes a checkout in a process that crashes before or after a call."""
    order, _ = backends.order(Faults([Fault(call, Crash(), after)]), instance=instance)
    with pytest.raises(Crash):
        await buy(order, **bought)


async def test_a_whole_checkout_makes_these_calls(backends: Any, buy: Buy) -> None:
    faults = Faults()
    order, _ = backends.order(faults)
    await buy(order)
    assert sorted(faults.calls) == sorted(FORWARD)


@pytest.mark.parametrize("after", MOMENTS)
@pytest.mark.parametrize("call", FORWARD)
async def test_crash_on_the_way_forward(backends: Any, buy: Buy, order_count: Count, call: str, after: bool) -> None:
    await crash(buy, backends, call, after)
    order, recovery = backends.order()
    recovered = await recovery.sweep()
    begun, ended = (call, after) != ("checkouts.claim", False), (call, after) == ("checkouts.complete", True)
    assert recovered == int(begun and not ended)
    # After the statement that stores the order, recovery completes the saga; before it, recovery undoes the saga.
    past_pivot = FORWARD.index(call) > FORWARD.index("checkouts.place") or (call, after) == ("checkouts.place", True)
    assert order_count() == int(past_pivot)
    assert backends.audit() == []
    assert (await buy(order)).status is OrderStatus.CONFIRMED
    assert order_count() == 1
    assert backends.audit() == []


@pytest.mark.parametrize("after", MOMENTS)
@pytest.mark.parametrize("call", BACKWARD)
async def test_crash_on_the_way_back(backends: Any, buy: Buy, order_count: Count, call: str, after: bool) -> None:
    await crash(buy, backends, call, after, token="tok_declined")
    order, recovery = backends.order()
    await recovery.sweep()
    assert order_count() == 0
    assert backends.audit() == []
    if (call, after) == ("checkouts.start_undo", False):
        # The answer was not stored, so the checkout starts again, and ends in the same way.
        assert await recovery.sweep() == 0
    with pytest.raises(PaymentDeclined):
        await buy(order, token="tok_declined")
    assert backends.audit() == []


@pytest.mark.parametrize("after", MOMENTS)
@pytest.mark.parametrize("call", FORWARD)
@pytest.mark.parametrize("kind", [Unavailable, RuntimeError])
async def test_a_call_that_may_have_got_through(
    backends: Any, buy: Buy, order_count: Count, kind: type[Exception], call: str, after: bool
) -> None:
    faults = Faults([Fault(call, kind("who knows"), after)])
    order, recovery = backends.order(faults)
    try:
        bought = await buy(order)
    except (ShopError, RuntimeError):
        bought = None
    # Confirming and capturing are retried within the call.
    if call in ("product.confirm_reservation", "payment.capture_payment") and kind is not RuntimeError:
        assert bought is not None
    await recovery.sweep()
    assert backends.audit() == []
    again = await buy(order)
    assert bought is None or again.id == bought.id
    assert order_count() == 1
    assert backends.audit() == []


@pytest.mark.parametrize("after", MOMENTS)
@pytest.mark.parametrize("call", CANCELLING)
async def test_crash_while_cancelling(backends: Any, buy: Buy, call: str, after: bool) -> None:
    faults = Faults()
    order, _ = backends.order(faults)
    bought = await buy(order)
    faults.planned.append(Fault(call, Crash(), after))
    with pytest.raises(Crash):
        await order.cancel_order(bought.id)
    order, recovery = backends.order()
    await recovery.sweep()
    assert backends.audit() == []
    begun = (call, after) != ("cancellations.begin", False)
    assert (await order.get_order(bought.id)).status is (OrderStatus.CANCELLED if begun else OrderStatus.CONFIRMED)
    assert (await order.cancel_order(bought.id)).status is OrderStatus.CANCELLED
    assert backends.audit() == []


async def test_a_crash_during_recovery_is_recovered_too(backends: Any, buy: Buy) -> None:
    await crash(buy, backends, "payment.authorize_payment", after=True)
    for call in ("checkouts.start_undo", "payment.void_payment", "product.release_reservation", "checkouts.fail"):
        faults = Faults([Fault(call, Crash(), call != "checkouts.fail")])
        _, recovery = backends.order(faults)
        with pytest.raises(Crash):
            await recovery.sweep()
    order, recovery = backends.order()
    assert await recovery.sweep() == 1
    assert backends.audit() == []
    assert (await buy(order)).status is OrderStatus.CONFIRMED
    assert backends.audit() == []


async def test_a_process_that_only_seemed_dead_cannot_spoil_the_recovery(
    backends: Any, buy: Buy, order_count: Count
) -> None:
    """The other process takes the checkout over and undoes it while this one is between two steps."""
    _, recovery = backends.order()

    class Slow:
        async def authorize_payment(self, **arguments: Any) -> Any:
            payment = await backends.payment.authorize_payment(**arguments)
            assert await recovery.sweep() == 1
            return payment

        def __getattr__(self, name: str) -> Any:
            return getattr(backends.payment, name)

    slow = type(backends)(backends.trial, backends.product, backends.user, Slow(), backends.database)
    order, _ = slow.order()
    with pytest.raises(Conflict, match="taken this checkout over"):
        await buy(order)
    assert order_count() == 0
    assert backends.audit() == []


async def test_two_processes_never_recover_the_same_checkout(backends: Any, buy: Buy) -> None:
    for number in range(6):
        await crash(buy, backends, "payment.capture_payment", instance="dead", key=f"key-{number}")
    with psycopg.connect(backends.trial.url, autocommit=True) as admin:
        admin.execute("UPDATE shop_order.checkout SET lease_until = now() WHERE state = 'RUNNING'")
    sweeps = [backends.order(instance=name)[1].sweep() for name in ("left", "right")]
    assert sum(await asyncio.gather(*sweeps)) == 6
    assert backends.audit() == []


async def test_one_key_at_two_replicas_at_once_gives_one_order(backends: Any, buy: Buy, order_count: Count) -> None:
    (left, _), (right, _) = (backends.order(instance=name) for name in ("left", "right"))
    outcomes = await asyncio.gather(*(buy(order) for order in (left, right) * 4), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {type(outcome) for outcome in refused} <= {Conflict}
    assert len({outcome.id for outcome in outcomes if outcome not in refused}) == 1
    assert (await buy(left)).id == (await buy(right)).id
    assert order_count() == 1
    assert backends.audit() == []


async def test_two_replicas_that_cancel_one_order_give_back_once(backends: Any, buy: Buy) -> None:
    (left, sweep_left), (right, sweep_right) = (backends.order(instance=name) for name in ("left", "right"))
    bought = await buy(left)
    cancelled = await asyncio.gather(
        *(order.cancel_order(bought.id) for order in (left, right) * 4), sweep_left.sweep(), sweep_right.sweep()
    )
    assert {order.status for order in cancelled[:8]} == {OrderStatus.CANCELLED}
    assert backends.audit() == []


async def test_a_process_is_identified_by_its_name_or_its_address(backends: Any, buy: Buy) -> None:
    """A cluster's replicas all listen on the same address."""
    config = ServiceConfig(
        component="order", listen_grpc="0.0.0.0:18030", database_url=backends.trial.role_url("order"), database_pool=2
    )
    for number, (named, known) in enumerate({"order-7d4f": "order-7d4f", None: "0.0.0.0:18030"}.items()):
        async with bootstrap(replace(config, instance=named)) as parts:
            with pytest.raises(ConfigError):  # nobody is there to ask, but the checkout has begun
                await buy(parts.service, key=f"key-{number}")
        with psycopg.connect(backends.trial.url) as admin:
            query = "SELECT instance FROM shop_order.checkout WHERE idempotency_key = %s ORDER BY created_at DESC"
            row = admin.execute(query, [f"key-{number}"]).fetchone()
        assert row[0] == f"{socket.gethostname()}/{known}"


async def test_a_live_process_of_another_instance_is_left_alone(backends: Any, buy: Buy) -> None:
    await crash(buy, backends, "payment.capture_payment", instance="alive")
    assert await backends.order(instance="other")[1].sweep() == 0
    assert await backends.order(instance="alive")[1].sweep() == 1


async def test_sagas_that_cannot_be_finished_are_retried_later(backends: Any, buy: Buy) -> None:
    await crash(buy, backends, "payment.capture_payment")
    away = [Fault("payment.capture_payment", Unavailable("away")) for _ in range(4)]
    _, recovery = backends.order(Faults(away))
    assert await recovery.sweep() == 0
    with pytest.raises(Conflict, match="under way"):
        await buy(backends.order()[0])
    # No attempt is made before the end of the pause, which grows with each attempt.
    assert await recovery.sweep() == 0
    with psycopg.connect(backends.trial.url, autocommit=True) as admin:
        row = admin.execute("SELECT lease_until - now() FROM shop_order.checkout WHERE state = 'RUNNING'").fetchone()
        assert 0.5 < row[0].total_seconds() <= 2.0
        admin.execute("UPDATE shop_order.checkout SET lease_until = now() WHERE state = 'RUNNING'")
    assert await recovery.sweep() == 1
    assert backends.audit() == []
