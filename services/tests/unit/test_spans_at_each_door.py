"""SERVER spans are the same at each door: one for each sampled request, none for others, and no personal data."""

from __future__ import annotations

import base64
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from connect_client import connect_client
from memory_shop import Data, MemoryShop
from recorded_spans import ReadSpan, draw_tree, let_servers_end
from recording.loop import BUSY, RESTED
from served_shop import SCHEMES, served_gateways, served_service
from shop.clients.protocol_by_address import connect
from shop.contract.calls import PRODUCT, USER
from shop.contract.ports import ProductClient, UserClient
from shop.errors import ShopError
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.trace_context import PROPAGATOR, current_context

GATEWAYS = ("graphql-gateway", "rest-gateway")
SERVICE = (*SCHEMES, "connect")
CREDENTIALS = ("user3@example.com", "hopwise-demo")
READ = "query named ($id: ID!) { product(id: $id) { title } }"
LIST = "query ($category: String) { products(category: $category) { edges { cursor } } }"
LOGIN = (
    "mutation ($email: String!, $password: String!) { login(input: {email: $email, password: $password}) { token } }"
)
MARKER = "marker7f3a"


def over_http_to(method: str, route: str, path: str = "") -> dict[str, Any]:
    """Returns the attributes of a request that is answered with 200; its path is the route unless it is given."""
    always = {"http.response.status_code": 200, "url.scheme": "http", "network.protocol.version": "1.1"}
    return {**always, "http.request.method": method, "http.route": route, "url.path": path or route}


POST_GRAPHQL = over_http_to("POST", "/graphql") | {"graphql.operation.type": "query"}
GET_PRODUCT = over_http_to("GET", "/v1/products/{product_id}", "/v1/products/3")
ANSWERED_WITH_200 = ("graphql", "thrift_json")
"""Protocols over which a client's span cannot tell an error from an answer."""


class Kind(NamedTuple):
    """The spans of a read at a door: their names, the SERVER span's attributes, and its types of errors."""

    tree: tuple[str, ...]
    attributes: dict[str, Any]
    fault: str = "INTERNAL"
    missing: str | None = "NOT_FOUND"


GRPC, THRIFT = "shop.product.v1.ProductService", "ProductService"
REST = "GET /v1/products/{product_id}"
OF_GRPC = {"rpc.service": GRPC, "rpc.method": "GetProduct"}
OF_THRIFT = {"rpc.system.name": "thrift", "rpc.service": THRIFT, "rpc.method": "GetProduct"}
KINDS = {
    "connect": Kind((f"SERVER {GRPC}/GetProduct",), OF_GRPC | {"rpc.system": "connect_rpc"}),
    "graphql": Kind(
        ("CLIENT GetProduct", "SERVER POST /graphql", "INTERNAL graphql.execute"),
        POST_GRAPHQL | {"graphql.operation.name": "GetProduct"},
    ),
    "graphql-gateway": Kind(
        ("SERVER POST /graphql", "INTERNAL graphql.execute"), POST_GRAPHQL | {"graphql.operation.name": "named"}
    ),
    "grpc": Kind(
        (f"CLIENT {GRPC}/GetProduct", f"SERVER {GRPC}/GetProduct"),
        OF_GRPC | {"rpc.system": "grpc", "rpc.grpc.status_code": 0},
    ),
    "rest": Kind((f"CLIENT {REST}", f"SERVER {REST}"), GET_PRODUCT, "500", None),
    "rest-gateway": Kind((f"SERVER {REST}",), GET_PRODUCT, "500", None),
    "thrift": Kind((f"CLIENT {THRIFT}/GetProduct", f"SERVER {THRIFT}/GetProduct"), OF_THRIFT),
    "thrift_json": Kind(
        (f"CLIENT {THRIFT}/GetProduct", "SERVER POST /thrift/product"),
        over_http_to("POST", "/thrift/product") | OF_THRIFT,
    ),
}


def graphql(query: str, **variables: Any) -> tuple[str, str, Any]:
    return "POST", "/graphql", {"query": query, "variables": variables}


REQUESTS: dict[str, dict[str, Callable[..., tuple[str, str, Any]]]] = {
    "rest-gateway": {
        "read": lambda product: ("GET", f"/v1/products/{product}", None),
        "list": lambda category: ("GET", f"/v1/products?category={category}", None),
        "login": lambda email, password: ("POST", "/v1/sessions", {"email": email, "password": password}),
    },
    "graphql-gateway": {
        "read": lambda product: graphql(READ, id=base64.b64encode(f"Product:{product}".encode()).decode()),
        "list": lambda category: graphql(LIST, category=category),
        "login": lambda email, password: graphql(LOGIN, input={"email": email, "password": password}),
    },
}
"""A client's requests, by name, to each gateway."""
Door = Callable[..., Awaitable[object]]
"""Makes the request with a given name in the current trace; an error counts as an answer."""


@pytest.fixture(scope="module")
def shop() -> MemoryShop:
    return MemoryShop(Data.demo())


@pytest.fixture(scope="module")
async def addresses(shop: MemoryShop, keys: Any, runtime: Runtime) -> AsyncIterator[dict[str, str]]:
    """The address of each door; for a service's protocols, the product service's."""
    async with (
        served_gateways(shop.clients, keys.public_file, runtime=runtime) as gateways,
        served_service("product", shop.use_cases("product"), keys.public_file, SERVICE, runtime=runtime) as services,
    ):
        yield gateways | services


@pytest.fixture(scope="module")
async def doors(
    addresses: dict[str, str], shop: MemoryShop, keys: Any, runtime: Runtime
) -> AsyncIterator[dict[str, Door]]:
    """Each door, already used once: one-time work, such as the check of a document, is left out."""
    async with AsyncExitStack() as stack:
        serving = served_service("user", shop.use_cases("user"), keys.public_file, SERVICE, runtime=runtime)
        users, made = await stack.enter_async_context(serving), {}
        for protocol, scheme in SCHEMES.items():
            peers = {name: f"{scheme}://{at[protocol]}" for name, at in (("product", addresses), ("user", users))}
            clients = await stack.enter_async_context(connect(peers, "test", runtime=runtime))
            made[protocol] = over_clients(clients.product, clients.user)
        http = httpx.AsyncClient(trust_env=False, event_hooks={"request": [inject_context]})
        await stack.enter_async_context(http)
        for name in GATEWAYS:
            made[name] = over_http(http, f"http://{addresses[name]}", REQUESTS[name])
        product, user = (connect_client(one, http, at["connect"]) for one, at in ((PRODUCT, addresses), (USER, users)))
        made["connect"] = over_clients(product, user)
        for door in made.values():
            await door("read", 3)
        yield made


async def inject_context(request: httpx.Request) -> None:
    PROPAGATOR.inject(request.headers)


def over_clients(product: ProductClient, user: UserClient) -> Door:
    async def ask(name: str, *arguments: Any) -> None:
        calls: dict[str, Callable[..., Any]] = {
            "read": product.get_product,
            "list": lambda category: product.list_products(category=category),
            "login": user.login,
        }
        with contextlib.suppress(ShopError):
            await calls[name](*arguments)

    return ask


def over_http(http: httpx.AsyncClient, address: str, requests: dict[str, Callable[..., tuple[str, str, Any]]]) -> Door:
    async def ask(name: str, *arguments: Any) -> None:
        method, path, body = requests[name](*arguments)
        await http.request(method, f"{address}{path}", json=body)

    return ask


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest, shop: MemoryShop) -> str:
    shop.record.on_call = None
    return str(request.param)


@pytest.fixture
def door(name: str, doors: dict[str, Door]) -> Door:
    return doors[name]


@pytest.fixture
def leaves(traces: Any, door: Door) -> Callable[..., Awaitable[list[ReadSpan]]]:
    """Makes a request in a sampled trace; returns its spans."""

    async def ask(*request: Any) -> list[ReadSpan]:
        traces.clear()
        with traces.journey() as root:
            await door(*request)
        await let_servers_end()
        spans: list[ReadSpan] = traces.of(root)
        assert {span.context.trace_id for span in traces.all()} == {root.trace_id}
        return spans

    return ask


def server_of(spans: Sequence[ReadSpan]) -> ReadSpan:
    (server,) = [span for span in spans if span.kind is SpanKind.SERVER]
    return server


async def test_a_sampled_request_leaves_one_server_span(leaves: Any, name: str) -> None:
    spans = await leaves("read", 3)
    kind = KINDS[name]
    assert draw_tree(spans).replace("  ", "").split("\n") == [*kind.tree]
    server = server_of(spans)
    assert server.status.status_code is StatusCode.UNSET
    assert {key: one for key, one in server.attributes.items() if key not in (BUSY, RESTED)} == kind.attributes
    for above, below in itertools.pairwise(spans):
        assert below.parent.span_id == above.context.span_id
        assert above.start_time <= below.start_time <= below.end_time <= above.end_time


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "unsampled"])
async def test_the_callers_trace_continues(door: Door, shop: MemoryShop, traces: Any, sampled: bool) -> None:
    seen = []

    async def look(_method: str) -> None:
        seen.append((current_context(), trace.get_current_span().is_recording()))

    shop.record.on_call = look
    with traces.journey(sampled=sampled) as root:
        await door("read", 3)
    await let_servers_end()
    assert {(context.trace_id, records) for context, records in seen} == {(root.trace_id, sampled)}
    if sampled:
        spans = {span.context.span_id: span for span in traces.all()}
        below = spans[seen[0][0].span_id]
        while below.kind is not SpanKind.SERVER:
            below = spans[below.parent.span_id]


async def test_other_requests_leave_none(door: Door, traces: Any) -> None:
    with traces.journey(sampled=False):
        await door("read", 3)
    await door("read", 3)
    await let_servers_end()
    assert traces.all() == []


async def test_a_fault_is_an_error_and_says_nothing_of_its_cause(leaves: Any, name: str, shop: MemoryShop) -> None:
    shop.record.fail(RuntimeError("secret"))
    spans = await leaves("read", 3)
    server = server_of(spans)
    assert (server.status.status_code, server.attributes["error.type"]) == (StatusCode.ERROR, KINDS[name].fault)
    assert "secret" not in "".join(span.text for span in spans)


async def test_a_clients_mistake_is_not_an_error_of_the_server(leaves: Any, name: str) -> None:
    spans = await leaves("read", 999)
    server = server_of(spans)
    assert (server.status.status_code, server.attributes.get("error.type")) == (StatusCode.UNSET, KINDS[name].missing)
    for client in (span for span in spans if span.kind is SpanKind.CLIENT):
        assert (client.status.status_code is StatusCode.ERROR) == (name not in ANSWERED_WITH_200)


async def test_no_span_has_data_of_a_client(leaves: Any) -> None:
    spans = await leaves("list", MARKER)
    for email, password in (CREDENTIALS, ("nobody@example.com", "hopwise-demo")):
        spans += await leaves("login", email, password)
    text = "".join(span.text for span in spans)
    assert [secret for secret in (MARKER, "example.com", "hopwise-demo") if secret in text] == []
    assert len(spans) >= 3


@pytest.mark.parametrize("name", [*GATEWAYS, "connect", "graphql", "grpc", "rest"])
async def test_health_checks_leave_none(name: str, addresses: dict[str, str], traces: Any) -> None:
    headers: dict[str, str] = {}
    with traces.journey():
        PROPAGATOR.inject(headers)
    if name == "grpc":
        async with grpc.aio.insecure_channel(addresses[name]) as channel:
            asked = health_pb2.HealthCheckRequest()
            await health_pb2_grpc.HealthStub(channel).Check(asked, metadata=tuple(headers.items()), timeout=5)
    else:
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(f"http://{addresses[name]}/healthz", headers=headers)
        assert (answer.status_code, answer.text) == (200, "ok\n")
        assert answer.headers["cache-control"] == "no-store"
    await let_servers_end()
    assert traces.all() == []


@pytest.mark.parametrize("name", ["rest", "rest-gateway"])
async def test_a_path_that_leads_nowhere_is_in_no_name(name: str, addresses: dict[str, str], traces: Any) -> None:
    headers: dict[str, str] = {}
    with traces.journey():
        PROPAGATOR.inject(headers)
    async with httpx.AsyncClient(base_url=f"http://{addresses[name]}", trust_env=False) as http:
        await http.get("/nowhere", headers=headers)
    await let_servers_end()
    (span,) = traces.all()
    assert (span.name, span.status.status_code) == ("GET", StatusCode.UNSET)
