"""A page of another origin, in a headless browser, calls the shop with widely used clients, and buys something."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Page, Request, sync_playwright

from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.envoy_config import DESCRIPTOR
from mesh.native.start_page import start_page
from provision.errors import SetupError
from provision.npm import Package, fetch_packages
from provision.paths import cache

PAGE = Path(__file__).with_name("browser.html")
CLIENTS = [
    Package(
        "@connectrpc/connect-web",
        "2.3.0",
        "JPXOiWaVsj+ZwaXOQjwvhc0ORnkl0a1w36Qyl3j1WTuak6/VYyuWGl1Aq8I60gQfQRjsjLLFGr64tO0sjwstcg==",
    ),
    Package(
        "@connectrpc/connect",
        "2.3.0",
        "rjAn8L9KbAZrkwiB8m1qzDsLs74hkYmwwM2iSWuxTPVOTRm/EZw31smKbQqPU50AXqJC5eKKpEnA6Uf/swQOgQ==",
    ),
    Package(
        "@bufbuild/protobuf",
        "2.17.0",
        "hcPkSz6D7MiTU/5VBBhK+kxaYDoOdQ6yJRFJ3kS8Nydp+VZXfg1vrpABKPNod8bXMufsVCmiUJVIKFzCzta4uw==",
    ),
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WAYS = [("grpc-web", "grpc-web"), ("connect", "connect"), ("connect", "connect, JSON"), ("connect@kong", "connect")]
ORIGIN = {"origin": "https://page.example"}


@pytest.fixture(scope="module")
def browser_clients() -> Path:
    """The folder of the browser clients, which is fetched once for all checkouts of this user."""
    folder = cache() / f"browser-clients-{hashlib.sha256(repr(CLIENTS).encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            fetch_packages(CLIENTS, "Fetching clients for browsers", folder)
        except SetupError as error:
            pytest.skip(f"no page called the shop, because npm fetched no @connectrpc/connect-web: {error}")
    return folder


@pytest.fixture(scope="module")
def page(browser_clients: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page in a headless browser, whose origin is not the shop's."""
    chosen = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chosen is None:
        pytest.skip("no page called the shop, because there is no browser: apt-get install chromium")
    site = tmp_path_factory.mktemp("site")
    for scope in browser_clients.iterdir():
        (site / scope.name).symlink_to(scope)
    shutil.copy(PAGE, site / "index.html")
    (site / "contract.bin").symlink_to(DESCRIPTOR)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chosen, args=FLAGS)
            opened = browser.new_page()
            opened.goto(f"http://127.0.0.1:{server.server_port}/")
            opened.wait_for_function("() => Boolean(window.shop)")
            yield opened
            browser.close()
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        pass


@pytest.mark.parametrize(("shop", "speaks"), WAYS, indirect=["shop"], scope="session")
def test_a_page_buys_something(page: Page, shop: Any, speaks: str) -> None:
    key = uuid.uuid4().hex
    sent: list[Request] = []

    def note(request: Request) -> None:
        sent.append(request)

    page.on("request", note)
    bought = page.evaluate("([url, speaks, key]) => shop(url, speaks, key)", [shop.system.url, speaks, key])
    page.remove_listener("request", note)
    assert (bought["sold"], bought["rows"]) == (2, 1500)
    assert bought["total"] == 2 * bought["price"]
    assert bought["refusal"].startswith("NotFound: there is no order")
    with psycopg.connect(shop.system.database.admin_url_of(TRIAL_DATABASE)) as database:
        row = "SELECT status, total_minor FROM shop_order.orders WHERE id = %s AND user_id = 3"
        assert database.execute(row, [bought["id"]]).fetchall() == [("CONFIRMED", bought["total"])]
    methods = {one.url.partition("?")[0].rpartition("/")[2]: one.method for one in sent if one.method != "OPTIONS"}
    reads = "POST" if speaks == "grpc-web" else "GET"
    assert methods == {
        **dict.fromkeys(("Login", "Checkout", "StreamProductRows"), "POST"),
        **dict.fromkeys(("GetProduct", "GetOrder"), reads),
    }


@pytest.mark.parametrize("shop", ["grpc-web", "connect", "connect@kong"], indirect=True)
def test_only_calls_answer_other_origins(shop: Any) -> None:
    asks = {**ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    call = "/shop.product.v1.ProductService/GetProduct"
    with httpx.Client(base_url=shop.system.url, trust_env=False, timeout=10) as http:
        allowed = http.options(call, headers=asks)
        assert (allowed.status_code, allowed.content) == (200, b"")
        assert allowed.headers["access-control-allow-origin"] in ("*", ORIGIN["origin"])
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in allowed.headers
        for path in ("/healthz", "/nothing"):
            assert "access-control-allow-origin" not in http.options(path, headers=asks).headers, path
        # The page can read a refusal of the edge itself, too.
        refused = http.post(call, headers={**ORIGIN, "grpc-timeout": "soon"})
        assert refused.status_code == 400
        assert "access-control-allow-origin" in refused.headers
        assert json.loads(refused.text)["code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("shop", ["connect"], indirect=True)
def test_requests_to_copy_are_answered(shop: Any, tmp_path: Path) -> None:
    page = start_page(shop.system.topology, shop.system.url, {}, None, tmp_path, "")
    assert re.findall(r">([^<]+): three requests to copy<", page) == ["Connect (JSON)"]
    commands = [html.unescape(command) for command in re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)]
    done = subprocess.run(["sh", "-c", "\n".join(commands)], capture_output=True, text=True, timeout=30)
    assert (done.stdout.count('"products"'), done.stdout.count('"orders"')) == (1, 1), done
