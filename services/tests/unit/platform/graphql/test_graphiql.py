"""The page for browsers at `/graphql`, and the answers to other clients there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory_shop import MemoryShop
from served_shop import served_service
from shop.platform.graphql.graphiql import FETCHED, GraphiQL

pytestmark = pytest.mark.ours
HTML = {"accept": "text/html,*/*;q=0.8"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FETCHED:
        (tmp_path / name).write_text(f"/* {name} */")
    return tmp_path


def asking(gateway: Any, folder: Path) -> httpx.AsyncClient:
    app = GraphiQL(gateway.http._transport.app, str(folder))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")


async def test_a_browser_gets_a_page_without_files_from_elsewhere(gateway: Any, folder: Path) -> None:
    http = asking(gateway, folder)
    page = await http.get("/graphql", headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "://" not in page.text
    links = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert {link.rpartition("/")[2] for link in links} == {*FETCHED, "start.js"}
    for link in links:
        answer = await http.get(link)
        kind = "css" if link.endswith(".css") else "javascript"
        assert (answer.status_code, kind in answer.headers["content-type"]) == (200, True)


@pytest.mark.parametrize("missing", FETCHED)
async def test_without_its_files_it_says_how_to_get_them_and_queries_are_answered(
    gateway: Any, folder: Path, missing: str
) -> None:
    (folder / missing).unlink()
    http = asking(gateway, folder)
    page = await http.get("/graphql", headers=HTML)
    assert page.status_code == 404
    assert "Run <code>make setup</code>" in page.text
    assert (await http.get(f"/graphql/graphiql/{missing}")).status_code == 404
    answer = await http.post("/graphql", json={"query": "{ __typename }"})
    assert answer.json() == {"data": {"__typename": "Query"}}


async def test_files_that_come_later_need_no_restart(gateway: Any, folder: Path) -> None:
    (folder / "react.js").rename(folder / "later")
    http = asking(gateway, folder)
    assert (await http.get("/graphql", headers=HTML)).status_code == 404
    (folder / "later").rename(folder / "react.js")
    assert (await http.get("/graphql", headers=HTML)).status_code == 200


async def test_a_service_without_a_folder_answers_browsers_as_it_answers_every_client(keys: Any) -> None:
    served = served_service("product", MemoryShop().use_cases("product"), keys.public_file, ["graphql"])
    async with served as at, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(f"http://{at['graphql']}/graphql", headers=HTML)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (200, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/graphql?query={__typename}", HTML, 200),
        ("/graphql", {"accept": "application/json"}, 200),
        ("/graphql/graphiql/page.html", {}, 404),
        ("/graphql/graphiql/%2e%2e/__init__.py", {}, 404),
        ("/graphiql.js", {}, 404),
    ],
)
async def test_everything_else_is_the_endpoint_s(
    gateway: Any, folder: Path, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await asking(gateway, folder).get(path, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
