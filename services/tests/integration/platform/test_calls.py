"""Rules for calls between services that hold over every protocol: errors, deadlines, unavailability."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from puppet import POT, Puppet, connected, raising, serving
from served_shop import SCHEMES
from shop.clients.protocol_by_address import connect
from shop.errors import DeadlineExceeded, Internal, Unavailable
from shop.platform.deadline import deadline, remaining
from shop.platform.error_codes import ERROR_TABLE
from shop.values.product import Product

pytestmark = pytest.mark.parametrize("protocol", SCHEMES)


@pytest.mark.parametrize("code", sorted(ERROR_TABLE))
async def test_every_error_arrives_as_it_was_raised(protocol: str, code: Any) -> None:
    row = ERROR_TABLE[code]
    async with connected(protocol, Puppet(raising(row.error("Say ünwhat ☕", field="lines[2].quantity")))) as clients:
        for call in (clients.product.delete_product(1), clients.product.get_product(1)):
            with pytest.raises(row.error) as raised:
                await call
            assert type(raised.value) is row.error
            assert (raised.value.message, raised.value.field) == ("Say ünwhat ☕", "lines[2].quantity")


async def test_unknown_cause_stays_in_the_log(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    async with connected(protocol, Puppet(raising(RuntimeError("password=hunter2")))) as clients:
        with pytest.raises(Internal, match=r"^internal error$"):
            await clients.product.delete_product(1)
    assert "hunter2" in caplog.text


async def test_reads_are_tried_again_and_changes_are_not(protocol: str) -> None:
    puppet = Puppet(raising(Unavailable("briefly away")))
    async with connected(protocol, puppet) as clients:
        with pytest.raises(Unavailable, match="briefly away"):
            await clients.product.get_product(1)
        assert puppet.calls == 3
        with pytest.raises(Unavailable):
            await clients.product.delete_product(1)
        assert puppet.calls == 4


async def test_deadline_of_the_caller_reaches_the_callee(protocol: str) -> None:
    seen: list[float] = []

    async def act() -> Product:
        seen.append(remaining() or 0.0)
        return POT

    async with connected(protocol, Puppet(act)) as clients:
        with deadline(2.0):
            assert await clients.product.get_product(1) == POT
        await clients.product.get_product(1)
    # gRPC sends timeouts with few digits, rounded up.
    assert 1.0 < seen[0] <= 2.1
    # If the request has no deadline, the client sets a deadline itself.
    assert 4.0 < seen[1] <= 5.1


async def test_passed_deadline_ends_the_call_and_the_work(protocol: str) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def act() -> Product:
        if not began.is_set():
            began.set()
            return POT
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return POT

    async with connected(protocol, Puppet(act)) as clients:
        # One-time work, such as validating a document, must not use up the time of the late call.
        await clients.product.get_product(1)
        with pytest.raises(DeadlineExceeded), deadline(0.5):
            await clients.product.get_product(1)
        await asyncio.wait_for(ended.wait(), 2)
        with pytest.raises(DeadlineExceeded), deadline(0.0):
            await clients.product.get_product(1)


@pytest.fixture(params=["address", "socket"])
def place(request: pytest.FixtureRequest, free_address: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Where a service will listen, and the sockets for a client that finds the service there."""
    if request.param == "address":
        yield free_address, {}
        return
    with tempfile.TemporaryDirectory(prefix="shop") as folder:
        yield f"unix:{folder}/product.sock", {"product": f"{folder}/product.sock"}


async def test_service_that_is_away_is_unavailable_and_then_back(
    protocol: str, place: tuple[str, dict[str, str]], free_address: str
) -> None:
    listen, sockets = place
    if sockets and protocol.startswith("thrift"):
        pytest.skip("Thrift is not called over sockets")
    async with connect({"product": f"{SCHEMES[protocol]}://{free_address}"}, "test", sockets) as clients:
        for _ in range(2):
            with pytest.raises(Unavailable, match="the product service does not answer"), deadline(2):
                await clients.product.get_product(1)
            async with serving(protocol, Puppet(), listen):
                for _ in range(100):
                    try:
                        assert await clients.product.get_product(1) == POT
                        break
                    except Unavailable:
                        await asyncio.sleep(0.05)
                else:
                    pytest.fail("the client did not find it again")
