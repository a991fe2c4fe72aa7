"""GraphiQL in a real browser that cannot reach any other host."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, async_playwright, expect

from graphql_gateway.app import build_app
from graphql_gateway.bootstrap import FIRST_QUERY
from memory_shop import Data, MemoryShop
from shop.contract.calls import PRODUCT
from shop.platform.access.jwt import TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import ServiceConfig
from shop.platform.graphql.graphiql import POLICY, GraphiQL
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.serve import Offer, servers

ROOT = Path(__file__).resolve().parents[4]
FETCHED = ROOT / ".tools" / "graphiql"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    chosen = os.environ.get("CHROMIUM_BIN") or next(filter(None, map(shutil.which, NAMES)), None)
    if chosen is None:
        pytest.skip("GraphiQL was not looked at in a browser, because there is none: apt-get install chromium")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chosen, args=FLAGS)
        yield started
        await started.close()


class Opened:
    """A page that reaches only one host, with its requests to other hosts and the complaints in its console."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.foreign: list[str] = []
        self.complaints: list[str] = []

    @classmethod
    async def open(cls, browser: Browser, url: str) -> Opened:
        opened = cls(await browser.new_page(viewport={"width": 1280, "height": 800}), url)
        opened.page.on("console", lambda said: opened.complaints.append(said.text) if said.type == "error" else None)
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        await opened.page.route("**/*", opened._pass_on)
        return opened

    async def _pass_on(self, route: Route) -> None:
        if route.request.url.startswith((self.url, "data:")):
            await route.continue_()
        else:
            self.foreign.append(route.request.url)
            await route.abort()


@asynccontextmanager
async def gateway(shop: MemoryShop, authenticator: Authenticator) -> AsyncIterator[str]:
    app = GraphiQL(build_app(shop.clients, Incoming(authenticator), streams=Streams()), str(FETCHED), FIRST_QUERY)
    async with http_server(app, "127.0.0.1:0", sockets=True) as address:
        yield address


@asynccontextmanager
async def service(shop: MemoryShop, _: Authenticator) -> AsyncIterator[str]:
    config = ServiceConfig(component="product", listen_graphql="127.0.0.1:0", graphiql=str(FETCHED))
    async with servers(config, Offer(PRODUCT, shop.clients.product)) as addresses:
        yield addresses["graphql"]


@pytest.mark.parametrize(
    ("serve", "query", "said"),
    [
        (gateway, "{ products(first: 1) { edges { node { title } } } }", '"amountMinor"'),
        (service, "{ product(id: 1) { title } }", '"__typename": "Query"'),
    ],
    ids=["gateway", "service"],
)
async def test_a_query_is_answered_with_nothing_from_another_host(
    serve: Any, query: str, said: str, verifier: TokenVerifier, browser: Browser
) -> None:
    async with serve(MemoryShop(Data.demo()), Authenticator(verifier)) as address:
        opened = await Opened.open(browser, f"http://{address}")
        answer = await opened.page.goto(f"http://{address}/graphql")
        assert (answer.status, answer.headers["content-security-policy"]) == (200, POLICY)

        # The query that the page shows first works.
        await opened.page.locator(".graphiql-execute-button").click()
        await expect(opened.page.locator(".result-window")).to_contain_text(said)
        await execute(opened.page, query)
        await expect(opened.page.locator(".result-window")).to_contain_text('"title": "Product 1"')
        await expect(opened.page.locator(".result-window")).not_to_contain_text(said)
        # The page has read the schema by itself.
        await opened.page.get_by_role("button", name="Show Documentation Explorer").click()
        await expect(opened.page.locator(".graphiql-doc-explorer")).to_contain_text("Mutation")
        assert opened.complaints == []
        if serve is gateway:  # follows a subscription over a WebSocket
            await execute(opened.page, "subscription { notifications { position } }")
            await expect(opened.page.locator(".result-window")).to_contain_text("4401 this needs a token")
            assert [text for text in opened.complaints if "4401 this needs a token" not in text] == []
        assert opened.foreign == []


async def execute(page: Page, document: str) -> None:
    await page.locator(".graphiql-query-editor .CodeMirror").click()
    await page.keyboard.press("Control+A")
    await page.keyboard.insert_text(document)
    await page.wait_for_timeout(500)  # until it has parsed the text
    await page.get_by_role("button", name="Execute query").click()
