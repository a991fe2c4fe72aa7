"""Fixtures that the tests of both gateways share: a shop in memory, and the program that is tested over it.

Conftests import them with `from gateway_shop import *`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from conforming import conforming
from memory_shop import Data, MemoryShop
from shop.platform.access.jwt import Principal, TokenSigner
from tokens import Keys, keys, signer, verifier

__all__ = ["keys", "program", "pytest_collection_modifyitems", "shared_shop", "shop", "signer", "verifier"]
Headers = dict[str, str]
ForUser = Callable[[int], Headers]
"""The headers of a customer, by the user's id."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps only the tests that apply to the tested program, if there is one."""
    if under_test := conforming():
        items[:] = [item for item in items if under_test.is_reached_by(item)]


@pytest.fixture(scope="session")
def shared_shop(signer: TokenSigner) -> MemoryShop:
    return MemoryShop(sign=lambda user_id: signer.sign(Principal("customer", user_id)))


@pytest.fixture
def shop(shared_shop: MemoryShop) -> MemoryShop:
    """200 products, 20 users, 50 orders: order i belongs to user 1 + (i - 1) % 5 and has 1 + i % 5 lines."""
    shared_shop.fill(Data.demo())
    shared_shop.record.calls.clear()
    shared_shop.record.on_call = None
    return shared_shop


@pytest.fixture(scope="session")
def program(shared_shop: MemoryShop, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """URL of the program that is tested instead of the application in this process; None for the application.

    It runs over services in memory, which this process serves over gRPC.
    """
    under_test = conforming()
    if under_test is None:
        yield None
        return
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(shared_shop.serving()) as address:
        peers = {f"SHOP_PEER_{name}": f"grpc://{address}" for name in ("PRODUCT", "ORDER", "USER", "PAYMENT")}
        env = {"SHOP_JWT_PUBLIC_KEY_FILE": str(keys.public_file), **peers}
        with under_test.started("http", env, tmp_path_factory.mktemp("gateway")) as place:
            yield f"http://{place}"
