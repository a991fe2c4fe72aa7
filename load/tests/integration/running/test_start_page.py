"""The page at the edge's root, which a user sees after starting a topology: all its requests work."""

from __future__ import annotations

import html
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import sync_playwright

from mesh.native.system import System

REQUEST = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL)
GRPCURL = Path(__file__).with_name("grpcurl.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
SHOPS = {"rest": ["REST"], "grpc": ["gRPC"], "hybrid over TLS": ["GraphQL", "REST"], "grpc over TLS": ["gRPC"]}
"""The shops, and the protocols of the requests on their pages."""


@pytest.fixture
def http(shop: System) -> Iterator[httpx.Client]:
    """A client that trusts the edge's certificate."""
    trusted = ssl.create_default_context(cafile=str(shop.ca_certificate)) if shop.ca_certificate else True
    with httpx.Client(base_url=shop.url, trust_env=False, verify=trusted) as client:
        yield client


@pytest.mark.parametrize("shop", SHOPS, indirect=True, scope="package")
def test_every_request_of_the_page_is_answered(
    shop: System, http: httpx.Client, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    answer = http.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert re.findall(r">([^<]+): three requests to copy<", answer.text) == SHOPS[request.node.callspec.params["shop"]]
    commands = [html.unescape(match) for match in REQUEST.findall(answer.text)]
    (tmp_path / "grpcurl").write_text(f'#!/bin/sh\nexec {sys.executable} {GRPCURL} "$@"\n')
    (tmp_path / "grpcurl").chmod(0o700)
    # One shell, because a login keeps its token for the next request.
    script = "\n".join(f"{command}; printf '\\n--\\n'" for command in commands)
    environ = {**os.environ, "PATH": f"{os.environ['PATH']}:{tmp_path}"}
    done = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, text=True, check=True, timeout=60)
    *answers, _ = done.stdout.split("\n--\n")
    assert done.stderr == ""
    assert len(answers) == 3 * len(SHOPS[request.node.callspec.params["shop"]])
    for products, login, orders in zip(answers[::3], answers[1::3], answers[2::3], strict=True):
        assert '"title"' in products
        assert login == ""
        assert re.search(r'"status":\s*"(ORDER_STATUS_)?[A-Z]+"', orders)


@pytest.mark.parametrize("shop", ["hybrid over TLS"], indirect=True, scope="package")
def test_the_page_fits_windows_and_has_working_links(shop: System, http: httpx.Client) -> None:
    shown = dict(re.findall(r'<li><a href="([^"]+)">([^<]+)', http.get("/").text))
    assert set(shown.values()) == {"GraphiQL", "Swagger UI", "Jaeger"}
    for url in shown:
        accepted = {"accept": "text/html"}
        page = http.get(url, headers=accepted) if url.startswith(shop.url) else httpx.get(url, trust_env=False)
        assert page.status_code == 200, url
    program = os.environ.get("CHROMIUM_BIN") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("the start page was not looked at in a browser, because there is none: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for width in (390, 1280):
            opened = browser.new_page(viewport={"width": width, "height": 844}, ignore_https_errors=True)
            opened.goto(f"{shop.url}/")
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()


@pytest.mark.parametrize("shop", ["grpc"], indirect=True, scope="package")
def test_reflection_has_the_limits_of_calls(shop: System) -> None:
    """Otherwise one client's header would make other clients' calls on the same connection to the component fail."""
    asks = {"content-type": "application/grpc", "te": "trailers", "grpc-timeout": "soon"}
    with httpx.Client(base_url=shop.url, trust_env=False, http1=False, http2=True) as client:
        assert client.post(REFLECTION, headers=asks).headers["grpc-status"] == "3"
        assert client.post("/shop.product.v1.ProductService/GetProduct", headers=asks).headers["grpc-status"] == "3"
        assert client.post("/grpc.health.v1.Health/Check", headers=asks).headers["grpc-status"] == "12"
        assert client.post("/").status_code == 404
