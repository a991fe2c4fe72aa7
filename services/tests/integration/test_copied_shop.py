"""A copy of `services/shop` alone is a whole shop: it migrates its database, serves, sells, and is traced."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest

from mesh.components.postgres import Database
from mesh.components.shop_processes import role_name
from otlp_collector import Collector
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.money import Money
from shop.values.order import CheckoutLine, OrderStatus
from shop.values.user import Address

SHOP = Path(__file__).parents[2] / "shop"
PAGE = SHOP.parents[1] / "docs" / "copying.md"
NAME = "copied_shop"
LIMIT_S = 60.0
SERVICES = ("product", "user", "payment", "order")
OTHERS = ("dataset", "measured", "memory_stores", "recording", "graphql_gateway", "mesh", "hops")


@dataclass(frozen=True)
class Copy:
    """A copy of the shop in a folder without anything else of the project."""

    folder: Path

    def python(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Starts Python, which finds the copy and the installed packages, but no other package of this checkout."""
        # -S: site would read the file that leads to this checkout's folders.
        return subprocess.Popen(
            [sys.executable, "-S", *arguments],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": f"{self.folder}:{sysconfig.get_path('purelib')}",
                "PYTHONDONTWRITEBYTECODE": "1",
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def output(self, *arguments: str, **env: str) -> str:
        """Returns what Python prints; Python must end without an error."""
        with self.python(*arguments, **env) as running:
            out, err = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 0, err
        return out.strip()

    @contextmanager
    def serving(self, service: str, address: str, **env: str) -> Iterator[None]:
        """Serves until the context ends; the process must then end by itself, and without an error."""
        with self.python("-m", f"shop.{service}", SHOP_COMPONENT=service, SHOP_LISTEN_GRPC=address, **env) as running:
            try:
                with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
                    ready = grpc.channel_ready_future(channel)
                    give_up_at = time.monotonic() + LIMIT_S
                    while not ready.done():
                        assert running.poll() is None, running.communicate()
                        assert time.monotonic() < give_up_at, f"{service} does not answer"
                        time.sleep(0.05)
                yield
                running.terminate()
                _, said = running.communicate(timeout=LIMIT_S)
                assert running.returncode == 0, said
            finally:
                running.kill()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    shutil.copytree(SHOP, tmp_path / "copy" / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    return Copy(tmp_path / "copy")


@pytest.fixture
def copied_service(tmp_path: Path) -> Copy:
    """Copies what the page lists for the product service alone."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Take one service")
    listed, _, _ = section.partition("`shop/database/schemas.py`")
    into = tmp_path / "copy" / "shop"
    into.mkdir(parents=True)
    for name in re.findall(r"`([a-z_.]+)`", listed):
        if name.endswith(".py"):
            shutil.copy(SHOP / name, into)
        elif name != "shop":
            shutil.copytree(SHOP / name, into / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, services in (("database/schemas.py", "notification"), ("platform/config.py", "payment")):
        text, changed = re.subn(rf'\("product", .*"{services}"\)', '("product",)', (into / file).read_text())
        assert changed == 1
        (into / file).write_text(text)
    return Copy(tmp_path / "copy")


@pytest.fixture
def database_urls(copy: Copy, admin_url: str, passwords: Mapping[str, str]) -> Iterator[Callable[[str], str]]:
    """Yields a function that returns the URL of a service's role, on a database that the copy has migrated."""
    with migrated(copy, admin_url, passwords, last="order/0001.orders-and-checkouts") as url_of:
        yield url_of


@contextmanager
def migrated(copy: Copy, admin_url: str, passwords: Mapping[str, str], *, last: str) -> Iterator[Callable[[str], str]]:
    """Migrates a database with the copy, and yields a function that returns the URL of a service's role."""
    server = Database(admin_url, embedded=True)
    with closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        admin.execute(f"CREATE DATABASE {NAME}")
        url = admin_url.rpartition("/")[0] + f"/{NAME}"
        done = copy.output(
            "-m", "shop.database", "migrate", SHOP_ADMIN_URL=url, SHOP_ROLE_PASSWORDS=json.dumps(passwords)
        )
        assert last in done.splitlines()
        yield lambda service: server.url(role_name(service), NAME)
        admin.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


async def test_it_sells_and_is_traced_by_the_stock_sdk(
    copy: Copy,
    database_urls: Callable[[str], str],
    keys: Any,
    collector: Collector,
    free_addresses: Callable[[], str],
    traces: Any,
) -> None:
    seen = f"import importlib.util; print([name for name in {OTHERS} if importlib.util.find_spec(name)])"
    assert copy.output("-c", seen) == "[]"
    addresses = {service: free_addresses() for service in SERVICES}
    peers = {service: f"grpc://{address}" for service, address in addresses.items()}
    with ExitStack() as stack:
        for service, address in addresses.items():
            called = [each for each in SERVICES if service == "order" and each != service]
            env = {
                "SHOP_DATABASE_URL": database_urls(service),
                "SHOP_DATABASE_POOL": "2",
                "SHOP_JWT_PRIVATE_KEY_FILE": str(keys.private_file),
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                **{f"SHOP_PEER_{each.upper()}": peers[each] for each in called},
            }
            stack.enter_context(copy.serving(service, address, **env))
        async with connect(peers, "test", runtime=traces.runtime) as clients:
            with traces.journey() as root:
                await buy(clients)
    of_trace = [span for span in collector.spans if span.trace_id == root.trace_id.to_bytes(16)]
    assert {"shop.order.v1.OrderService/Checkout", "shop.payment.v1.PaymentService/AuthorizePayment"} <= {
        span.name for span in of_trace
    }
    assert {of["service.name"] for of in collector.resources} == set(SERVICES)
    assert {of["telemetry.sdk.name"] for of in collector.resources} == {"opentelemetry"}


def test_one_service_alone_migrates_its_database_and_serves(
    copied_service: Copy, admin_url: str, passwords: Mapping[str, str], free_addresses: Callable[[], str]
) -> None:
    own = {name: password for name, password in passwords.items() if name == role_name("product")}
    with migrated(copied_service, admin_url, own, last="product/0001.catalogue-and-reservations") as url_of:
        env = {"SHOP_DATABASE_URL": url_of("product"), "SHOP_DATABASE_POOL": "2"}
        with copied_service.serving("product", free_addresses(), **env):
            pass


async def buy(clients: Clients) -> None:
    """Opens a catalogue and an account, and buys two pieces."""
    tea = await clients.product.create_product(
        title="Tea", description="", category="tea", price=Money(350, "EUR"), stock=5
    )
    address = Address("Ada", "Mill Lane 1", "Berlin", "10115", "DE")
    user = await clients.user.create_user(email="a@example.com", name="Ada", address=address, password="long enough")
    order = await clients.order.checkout(
        user_id=user.id, lines=[CheckoutLine(tea.id, 2)], payment_token="tok_ok", idempotency_key="1"
    )
    assert (order.status, order.total) == (OrderStatus.CONFIRMED, Money(700, "EUR"))
    assert (await clients.product.get_product(tea.id)).stock == 3
