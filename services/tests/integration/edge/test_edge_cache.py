"""A real Varnish in front of a real shop: what it keeps, for whom, how long, and what its traces show."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from hops.budget.parts import budgets_of
from hops.traces.jaeger import read_traces
from mesh.components.edge_cache import invalidation_socket
from mesh.components.postgres_owner import remove_cluster
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.errors import NotInstalledError
from mesh.native.system import System
from mesh.paths import RunFolder, varnish

from .conftest import LIMIT_S, Shop

try:
    varnish("varnishd", os.environ)
except NotInstalledError as missing:
    pytest.skip(str(missing), allow_module_level=True)

RTT_MS = 10.0
PRODUCT = "/v1/products/17"


@pytest.fixture(scope="module")
def cached(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """`hybrid` behind Varnish, with an emulated network between the two; the shop of other tests may still be up."""
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("cached"))
    switches = Switches(edge_cache="varnish", rtt_ms=RTT_MS)
    with System(load_topology("hybrid"), switches, ports, "edge-cache", folder=folder) as system:
        yield Shop(system)
    remove_cluster(folder)


@pytest.fixture
async def client(cached: Shop) -> AsyncIterator[httpx.AsyncClient]:
    async with cached.client() as made:
        yield made


@pytest.fixture(autouse=True)
async def empty(cached: Shop) -> None:
    """Purges the products that earlier tests left."""
    ban = str(invalidation_socket(cached.system.folder, emulated=False))
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=ban), base_url="http://cache") as door:
        keys = ",".join(["products", "catalogue", *(f"product-{id_}" for id_ in range(1, 40))])
        assert (await door.request("BAN", "/", headers={"surrogate-key": keys})).status_code == 200
        assert (await door.request("BAN", "/", headers={"surrogate-key": "a || obj.status == 200"})).status_code == 400
        assert (await door.get("/v1/products")).status_code == 405


def is_hit(answer: httpx.Response) -> bool:
    return answer.headers["cache-status"] == "edge-cache; hit"


async def test_a_public_answer_serves_everybody_over_both_versions_of_http(cached: Shop, client: Any) -> None:
    first = await client.get(PRODUCT, headers={"authorization": cached.token("customer", 3)})
    again = await client.get(PRODUCT)
    assert (is_hit(first), is_hit(again)) == (False, True)
    assert first.content == again.content
    assert not {"surrogate-key", "via", "x-varnish"} & {*first.headers, *again.headers}
    async with cached.client(http2=True) as newer:
        assert is_hit(await newer.get(PRODUCT))
    assert is_hit(await client.head(PRODUCT))
    assert (await client.get(PRODUCT, headers={"if-none-match": first.headers["etag"]})).status_code == 304


async def test_personal_answers_and_errors_are_never_kept(cached: Shop, client: Any) -> None:
    for path in ("/v1/users/3", "/v1/users/3/orders"):
        for token, status in ((cached.token("customer", 3), 200), (cached.token("customer", 4), 403), ("", 401)) * 2:
            answer = await client.get(path, headers={"authorization": token} if token else {})
            assert (answer.status_code, is_hit(answer)) == (status, False), path
    for _ in range(2):
        missing = await client.get("/v1/products/999999999")
        assert (missing.status_code, is_hit(missing)) == (404, False)


async def test_vary_is_obeyed(client: Any) -> None:
    path = "/v1/products?page_size=40"
    packed, plain = ({"accept-encoding": "gzip"}, {"accept-encoding": "identity"})
    answers = [await client.get(path, headers=headers) for headers in (packed, plain, packed, plain)]
    assert [is_hit(answer) for answer in answers] == [False, False, True, True]
    assert [answer.headers.get("content-encoding") for answer in answers] == ["gzip", None] * 2
    assert len({answer.headers["etag"] for answer in answers}) == 2


async def test_persisted_queries_by_get_are_kept_if_they_are_public(cached: Shop, client: Any) -> None:
    async def ask(query: str, token: str = "") -> httpx.Response:
        headers = {"authorization": token} if token else {}
        answer: httpx.Response = await client.get("/graphql", params={"query": query}, headers=headers)
        return answer

    public = "{ products(first: 2) { edges { node { title } } } }"
    assert [is_hit(await ask(public, cached.token("customer", number))) for number in (3, 4)] == [False, True]
    for number in (3, 4, 3):
        mine = await ask("{ me { id } }", cached.token("customer", number))
        assert not is_hit(mine)
        assert (
            mine.json()["data"]["me"]["id"]
            == (await ask("{ me { id } }", cached.token("customer", number))).json()["data"]["me"]["id"]
        )
    posted = [await client.post("/graphql", json={"query": public}) for _ in range(2)]
    assert not any(map(is_hit, posted))


async def test_a_change_purges_only_answers_with_the_product(cached: Shop, client: Any) -> None:
    shown = [PRODUCT, "/v1/products?ids=17,18", "/graphql?query={products(first:20){edges{node{title}}}}"]
    other = "/v1/products/18"
    for path in (*shown, other):
        await client.get(path)
        assert is_hit(await client.get(path)), path
    partner = {"authorization": cached.token("partner", 1), "if-match": "*"}
    title = f"Title {secrets.token_hex(4)}"
    assert (await client.patch(PRODUCT, json={"title": title}, headers=partner)).status_code == 200
    for path in shown:
        async with asyncio.timeout(LIMIT_S):
            while title not in (await client.get(path)).text:
                pass
    assert is_hit(await client.get(other))


async def test_clients_can_neither_take_anything_out_nor_choose_a_key(cached: Shop, client: Any) -> None:
    product = "/v1/products/19"  # not 17, whose change in another test may still purge it
    forged = {"surrogate-key": "product-1", "surrogate-capability": "x"}
    await client.get(product, headers=forged)
    for method in ("BAN", "PURGE"):
        assert (await client.request(method, product, headers=forged)).status_code == 405
    assert is_hit(await client.get(product))
    ban = str(invalidation_socket(cached.system.folder, emulated=False))
    assert os.stat(ban).st_mode & 0o777 == 0o600
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=ban), base_url="http://cache") as door:
        await door.request("BAN", "/", headers={"surrogate-key": "product-1"})
        assert is_hit(await client.get(product))
        await door.request("BAN", "/", headers={"surrogate-key": "product-19"})
    assert not is_hit(await client.get(product))


SMUGGLED = b"GET /v1/users/3 HTTP/1.1\r\nHost: shop\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(SMUGGLED),
        b"Transfer-Encoding: xchunked\r\n",
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
        b"Connection: traceparent, authorization\r\nContent-Length: 0\r\n",
        b"Connection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 0\r\n",
    ],
)
async def test_a_smuggled_request_never_answers_another(cached: Shop, client: Any, head: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", cached.system.ports["edge-cache"])
    writer.write(b"POST " + PRODUCT.encode() + b" HTTP/1.1\r\nHost: shop\r\n" + head + b"\r\n" + SMUGGLED)
    writer.write_eof()
    async with asyncio.timeout(LIMIT_S):
        answers = await reader.read()
    writer.close()
    assert answers.startswith(b"HTTP/1.1 4")
    assert b"HTTP/1.1 200" not in answers
    for _ in range(3):
        answer = await client.get(PRODUCT)
        assert answer.json()["id"] == 17


async def test_a_hit_and_a_miss_have_separate_parts_in_budgets_that_add_up(cached: Shop, client: Any) -> None:
    ids = [secrets.token_hex(16) for _ in range(2)]
    for trace_id in ids:
        await client.get(PRODUCT, headers={"traceparent": f"00-{trace_id}-{'a' * 16}-01"})
    jaeger = cached.system.ports.url("jaeger-query-http")
    traces = await asyncio.to_thread(read_traces, jaeger, ids, patience_s=LIMIT_S)
    miss, hit = ({(span.service, span.kind) for span in traces[trace_id]} for trace_id in ids)
    assert hit == {("edge-cache", "SERVER")}
    assert miss >= {("edge-cache", "SERVER"), ("edge-cache", "CLIENT"), ("edge", "SERVER"), ("product", "SERVER")}
    # The client of this test makes no spans, so the cache's span is the root.
    rooted = [
        [replace(span, parent_id="") if span.parent_id == "a" * 16 else span for span in traces[trace_id]]
        for trace_id in ids
    ]
    budgets, quality = budgets_of(rooted)
    assert [budget.gap_ns for budget in budgets] == [0, 0]
    assert (quality.orphans, quality.skewed, quality.missing_servers) == (0, 0, 0)
    missed, answered = budgets
    assert set(answered.parts) == {"hit:edge-cache"}
    assert {"proxy:edge-cache", "wire:edge-cache→edge", "proxy:edge", "work:product"} <= set(missed.parts)
    assert missed.parts["wire:edge-cache→edge"] >= RTT_MS * 1e6
