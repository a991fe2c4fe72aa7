"""Hive Gateway in front of the subgraphs of a shop in memory: joins, access, errors, limits, spans and shutdown."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import graphql
import httpx
import pytest

from memory_shop import Data, MemoryShop
from otlp_collector import Collector
from provision.router import SUPERGRAPH, command, compose
from served_shop import served_service
from shop.contract.calls import Access
from shop.contract.graphql import operation_of, root_field
from shop.contract.signatures import methods_of
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER
from shop.platform.graphql.supergraph import SUBGRAPHS

READY_S = 30.0
DOCUMENTS = Path(__file__).resolve().parents[3] / "load" / "internal" / "graphql" / "documents" / "federation"
OWN, OTHER = 1, 2
"""The customer of the first order and of its payment, and another customer."""
HISTORY = "{ ordersByUser(userId: 1, pageSize: 3) { items { id payment { status } lines { product { id title } } } } }"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVER, CLIENT = 2, 3


class Router:
    def __init__(self, shop: MemoryShop, http: httpx.AsyncClient, signer: TokenSigner) -> None:
        self.shop = shop
        self.http = http
        self._signer = signer
        self.payments = AsyncExitStack()
        self.payments_at = ""

    def token(self, kind: Any, number: int) -> dict[str, str]:
        return {"authorization": f"Bearer {self._signer.sign(Principal(kind, number))}"}

    async def ask(self, document: str | None, headers: dict[str, str] | None = None, **more: Any) -> Any:
        body = {**({} if document is None else {"query": document}), **more}
        answer = await self.http.post("/graphql", json=body, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("application/json")
        return answer.json()


def codes(answer: Any) -> list[str]:
    assert all(set(error["extensions"]) <= {"code", "field", "retryAfter"} for error in answer.get("errors", ()))
    return [error["extensions"]["code"] for error in answer.get("errors", ())]


@pytest.fixture
async def started(
    keys: Any, signer: TokenSigner, free_address: str, tmp_path: Path, collector: Collector
) -> AsyncIterator[tuple[Router, asyncio.subprocess.Process]]:
    """A running router; it is killed if the test does not end it."""
    shop = MemoryShop(Data.demo())
    async with AsyncExitStack() as stack:
        http = httpx.AsyncClient(base_url=f"http://{free_address}", trust_env=False, timeout=20)
        router = Router(shop, await stack.enter_async_context(http), signer)
        await stack.enter_async_context(router.payments)
        peers = {}
        for name in SUBGRAPHS:
            of = router.payments if name == "payment" else stack
            served = served_service(name, shop.use_cases(name), keys.public_file, ["federation"])
            at = (await of.enter_async_context(served))["federation"]
            peers[f"SHOP_PEER_{name.upper()}"] = f"federation://{at}"
            if name == "payment":
                router.payments_at = at
        environment = {
            **{"PATH": os.environ["PATH"], "SHOP_COMPONENT": "graphql-gateway", "SHOP_INSTANCE": "graphql-gateway"},
            **{"SHOP_LISTEN_HTTP": free_address, "SHOP_SUPERGRAPH": str(SUPERGRAPH), **peers},
            **{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "SHOP_TELEMETRY_FOLDER": str(tmp_path / "telemetry")},
        }
        process = await asyncio.create_subprocess_exec(*command(), env=environment)
        try:
            async with asyncio.timeout(READY_S):
                while not await _is_ready(router.http):  # noqa: ASYNC110 - the router is another process
                    await asyncio.sleep(0.1)
            yield router, process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _is_ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/healthz")).status_code == 200
    except httpx.ConnectError:
        return False


async def test_the_router_joins_admits_limits_and_says_what_failed(
    started: Any, tmp_path: Path, collector: Collector
) -> None:
    """One test, as a router takes seconds to start."""
    router, process = started
    own, other, partner = router.token("customer", OWN), router.token("customer", OTHER), router.token("partner", 1)
    await _joins(router, own)
    await _admits_whom_each_row_admits(router, other)
    await _admits_whom_the_subgraphs_admit(router, own, other, partner)
    await _speaks_of_errors_as_the_shop_does(router, own)
    await _keeps_to_limits(router, own, partner)
    await _registers_documents(router)
    await _counts_failed_logins_by_address(router)
    await _loses_only_what_a_subgraph_would_have_said(router, own)
    await _ends(router, process)
    _has_told_of_its_spans(collector, tmp_path / "telemetry" / "graphql-gateway.json")


def test_the_committed_supergraph_is_what_the_composer_makes(tmp_path: Path) -> None:
    compose(tmp_path / "composed.graphql")
    assert (tmp_path / "composed.graphql").read_text() == SUPERGRAPH.read_text()


async def _joins(router: Router, own: dict[str, str]) -> None:
    router.shop.record.calls.clear()
    traced = own | {"traceparent": f"00-{TRACE}-{CALLER}-01"}
    answer = await router.ask(HISTORY, traced)
    orders = answer["data"]["ordersByUser"]["items"]
    assert [order["id"] for order in orders] == [46, 41, 36]
    titles = [line["product"]["title"] for order in orders for line in order["lines"]]
    assert titles
    assert all(titles)
    assert all(order["payment"]["status"] for order in orders)
    assert len(router.shop.record.calls) == 3, "one call of each subgraph, however many things are joined"


async def _admits_whom_each_row_admits(router: Router, other: dict[str, str]) -> None:
    """Makes all calls of the contract for the first customer's things: without a token, and as another customer."""
    schema = graphql.build_schema(SUPERGRAPH.read_text(), assume_valid=True)
    tried = 0
    for method in (method for service in SUBGRAPHS.values() for method in methods_of(service)):
        row, kind = method.contract, operation_of(method)
        if row.access in (Access.EVERYBODY, Access.INTERNAL):
            continue
        name = root_field(method).name
        field = schema.get_root_type(graphql.OperationType(kind)).fields[name]
        needed = [f"{key}: {_literal(of.type)}" for key, of in field.args.items() if graphql.is_required_argument(of)]
        shown = "" if graphql.is_leaf_type(graphql.get_named_type(field.type)) else "{ __typename }"
        given = f"({', '.join(needed)})" if needed else ""
        document = f"{kind} {{ {name}{given} {shown} }}"
        assert codes(await router.ask(document)) == ["UNAUTHENTICATED"], document
        refused = codes(await router.ask(document, other))
        if row.owner == "response.payments.user_id":
            assert refused == [], document  # another customer's things are left out of the list
        elif row.access is Access.PARTNER or row.owner.startswith("request"):
            assert refused == ["PERMISSION_DENIED"], document
        else:
            assert refused == ["NOT_FOUND"], document
        tried += 1
    assert tried == 17


def _literal(kind: Any) -> str:
    if isinstance(kind, graphql.GraphQLNonNull):
        return _literal(kind.of_type)
    if isinstance(kind, graphql.GraphQLList):
        return f"[{_literal(kind.of_type)}]"
    if isinstance(kind, graphql.GraphQLInputObjectType):
        needed = {name: field.type for name, field in kind.fields.items() if graphql.is_required_input_field(field)}
        return "{" + ", ".join(f"{name}: {_literal(of)}" for name, of in needed.items()) + "}"
    if isinstance(kind, graphql.GraphQLEnumType):
        return next(iter(kind.values))
    return '"x"' if kind.name == "String" else "1"


async def _admits_whom_the_subgraphs_admit(router: Router, own: Any, other: Any, partner: Any) -> None:
    order = "{ order(id: 1) { id payment { id } user { email } } }"
    of_partners = ("{ orders(ids: [1]) { id } }", "{ users(ids: [1]) { email } }", "{ orderLines(limit: 2) { id } }")
    for document in of_partners:
        assert codes(await router.ask(document, partner)) == [], document
    # A list of payments leaves out other customers' payments, and no join leads to another customer.
    assert (await router.ask("{ paymentsByOrder(orderIds: [1]) { id } }", other))["data"] == {"paymentsByOrder": []}
    review = "{ productPageWithReviews(pageSize: 1, reviewLimit: 1) { products { reviews { user { email } } } } }"
    answer = await router.ask(review, router.token("customer", 20))
    [product] = answer["data"]["productPageWithReviews"]["products"]
    assert (product["reviews"], codes(answer)) == ([{"user": None}], ["NOT_FOUND"])
    assert (await router.ask(order, own))["data"]["order"]["user"] == {"email": "user1@example.com"}
    closed = [
        '{ _entities(representations: [{__typename: "Order", id: 1}]) { __typename } }',
        "{ _service { sdl } }",
        'mutation { releaseReservation(reservationId: "x") { id } }',
        'mutation { voidPayment(checkoutId: "x") { id } }',
        "subscription { watchOrder(orderId: 1) { position } }",
    ]
    for document in closed:
        assert codes(await router.ask(document, partner)) == ["INVALID_ARGUMENT"], document


async def _speaks_of_errors_as_the_shop_does(router: Router, own: dict[str, str]) -> None:
    cases = {
        "{ product(id: 99999) { id } }": "NOT_FOUND",
        "{ product(id: 0) { id } }": "INVALID_ARGUMENT",
        '{ product(id: "one") { id } }': "INVALID_ARGUMENT",
        "{ product(id: 1) { nothing } }": "INVALID_ARGUMENT",
        "{ product(id: 1": "INVALID_ARGUMENT",
    }
    for document, code in cases.items():
        assert codes(await router.ask(document, own)) == [code], document
    document = "query Products($id: Long!) { product(id: $id) { id } }"
    assert codes(await router.ask(document, own, variables={})) == ["INVALID_ARGUMENT"]
    new = {"accept": "application/graphql-response+json"}
    assert (await router.http.post("/graphql", json={"query": "{ nothing }"}, headers=new)).status_code == 400


async def _keeps_to_limits(router: Router, own: dict[str, str], partner: dict[str, str]) -> None:
    page = "productPageWithReviews(pageSize: 100, reviewLimit: 20) { products { reviews { id } } }"
    wide = " ".join(f"a{number}: {page}" for number in range(20))
    assert codes(await router.ask(f"{{ {wide} }}")) == ["RESOURCE_EXHAUSTED"]
    assert codes(await router.ask(f"{{ {'__typename ' * 600} }}")) == ["INVALID_ARGUMENT"]
    # The router counts every list as 20 items; subgraphs count the items that it can have.
    long = "{ productPageWithReviews(pageSize: 1000, reviewLimit: 20) { products { id reviews { id body } } } }"
    assert codes(await router.ask(long)) == ["RESOURCE_EXHAUSTED"]
    dearest: list[tuple[str, dict[str, str], dict[str, int], list[str]]] = [
        ("order_history", own, {"id": OWN, "first": 10}, []),
        ("bulk_lines", partner, {"first": 1_000, "after": 0}, []),
        ("document", own, {"id": 1}, ["NOT_FOUND"]),  # this shop has no document
    ]
    for journey, who, variables, expected in dearest:
        text = (DOCUMENTS / f"{journey}.graphql").read_text()
        assert codes(await router.ask(text, who, variables=variables)) == expected, journey


async def _registers_documents(router: Router) -> None:
    document = "{ product(id: 7) { id } }"
    persisted = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(document.encode()).hexdigest()}}
    assert codes(await router.ask(None, extensions=persisted)) == ["PERSISTED_QUERY_NOT_FOUND"]
    assert codes(await router.ask("{ __typename }", extensions=persisted)) == ["INVALID_ARGUMENT"]
    for sent in (document, None):
        assert (await router.ask(sent, extensions=persisted))["data"] == {"product": {"id": 7}}


async def _counts_failed_logins_by_address(router: Router) -> None:
    document = 'mutation { login(email: "nobody@example.com", password: "battery staple") { token } }'
    outcomes = [codes(await router.ask(document, {EDGE_MARK: "192.0.2.99"})) for _ in range(11)]
    assert outcomes == [["UNAUTHENTICATED"]] * 10 + [["TOO_MANY_REQUESTS"]]


async def _loses_only_what_a_subgraph_would_have_said(router: Router, own: dict[str, str]) -> None:
    await router.payments.aclose()
    answer = await router.ask("{ order(id: 1) { id payment { status } } }", own)
    assert answer["data"] == {"order": {"id": 1, "payment": None}}
    assert codes(answer) == ["UNAVAILABLE"]
    assert "127.0.0.1" not in json.dumps(answer)
    assert codes(await router.ask("{ payment(id: 1) { id } }", own)) == ["UNAVAILABLE"]
    host, _, port = router.payments_at.rpartition(":")
    async with await asyncio.start_server(_never_answer, host, int(port)):
        hurried = own | {DEADLINE_HEADER: "300"}
        assert codes(await router.ask("{ payment(id: 1) { id } }", hurried)) == ["DEADLINE_EXCEEDED"]


async def _never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads until the caller leaves."""
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def _ends(router: Router, process: asyncio.subprocess.Process) -> None:
    """Requests in flight are answered before the router ends."""
    joined = "{ order(id: 1) { lines { product { title } } } }"
    under_way = asyncio.create_task(router.ask(joined, router.token("customer", OWN)))
    await asyncio.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert codes(await under_way) == []
    async with asyncio.timeout(10):
        assert await process.wait() == 0


def _has_told_of_its_spans(collector: Collector, account: Path) -> None:
    [server] = collector.spans_named("POST /graphql")
    assert (server.kind, server.trace_id.hex(), server.parent_span_id.hex()) == (SERVER, TRACE, CALLER)
    spans = {span.span_id: span for span in collector.spans}
    fetches = [span for span in collector.spans if span.kind == CLIENT]
    assert sorted(span.name for span in fetches) == ["POST order", "POST payment", "POST product"]
    for fetch in fetches:
        above = []
        parent = spans.get(fetch.parent_span_id)
        while parent is not None:
            above.append(parent.name)
            assert parent.start_time_unix_nano <= fetch.start_time_unix_nano
            assert fetch.end_time_unix_nano <= parent.end_time_unix_nano
            parent = spans.get(parent.parent_span_id)
        subgraph = fetch.name.removeprefix("POST ")
        assert above[0] == f"subgraph {subgraph}{'' if subgraph == 'order' else ' _entities'}"
        assert above[-2:] == ["graphql.execute", "POST /graphql"]
    counted = json.loads(account.read_text())
    assert counted["recorded"] == counted["exported"] == len(collector.spans)
    assert (counted["lost"], set(counted["cost_ns"])) == (0, {"SERVER", "CLIENT", "INTERNAL"})
