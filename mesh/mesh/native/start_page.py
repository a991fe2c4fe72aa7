"""The page at the edge's root: links and sample requests for the running topology, and the last run's budget."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mesh.description.topology import Protocol, Topology
from mesh.paths import REPORT_STYLE

DEMO_EMAIL, DEMO_PASSWORD = "user1@example.com", "hopwise-demo"
_LOGIN = {"email": DEMO_EMAIL, "password": DEMO_PASSWORD}
_AS_CUSTOMER = ' -H "authorization: Bearer $TOKEN"'
_KEEP = r"""sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'"""
_KEEP_OF_THRIFT = r"""sed -n 's/.*"0":{"rec":{"1":{"str":"\([^"]*\)".*/\1/p'"""
_PRODUCTS = (
    "{ products(first: 3) { edges { node { title price { amountMinor currency } reviews { rating title } } } } }"
)
_PRODUCTS_OF_SERVICE = "{ productPageWithReviews(pageSize: 3) { products { title stock reviews { rating title } } } }"
_ORDERS_OF_SERVICE = "{ ordersByUser(userId: 1, pageSize: 3) { items { id status lines { productId quantity } } } }"
_ORDERS = "{ me { name orders(first: 3) { edges { node { status total { amountMinor } lines { quantity } } } } } }"
_LOGS_IN = f'mutation {{ login(input: {{email: "{DEMO_EMAIL}", password: "{DEMO_PASSWORD}"}}) {{ token }} }}'
_LIST_PRODUCTS = "shop.product.v1.ProductService/ListProducts"
_LIST_ORDERS = "shop.order.v1.OrderService/ListOrdersByUser"
_LOG_IN = "shop.user.v1.UserService/Login"
MAX_PARTS = 12
"""How many of a budget's parts are listed; the other parts are added up."""


@dataclass(frozen=True)
class Request:
    """A command for a shell that sends a request."""

    title: str
    command: str


@dataclass(frozen=True)
class Budget:
    """The hop budget of the last run's mix of journeys.

    Attributes:
        run: Name of the run's folder.
        verdict: VALID, NOISY or WRONG.
        p50: Median latency, ms.
        parts: The largest parts, in ms, each with its percentage of the largest part.
        total: Sum of all parts, ms.
    """

    run: str
    verdict: str
    topology: str
    p50: float
    parts: Sequence[tuple[str, float, float]]
    total: float


def start_page(
    topology: Topology, url: str, links: Mapping[str, str], trusted: Path | None, latest: Path, describer: str
) -> str:
    """Renders the page.

    Args:
        links: Other pages, by their titles.
        trusted: File of the certificate that clients must trust; None without TLS.
        describer: Name of the component that describes the gRPC services; empty for none.
    """
    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("start_page.html").render(
        topology=topology,
        url=url,
        links=links,
        protocols=dict(_protocols(topology, url, trusted)),
        described=bool(describer),
        email=DEMO_EMAIL,
        password=DEMO_PASSWORD,
        budgets=read_budgets(latest, topology.name),
        style=REPORT_STYLE.read_text(encoding="utf-8"),
    )


def read_budgets(latest: Path, topology: str) -> list[Budget]:
    """Reads the budgets of the last run: the topology's budget if the run has it, otherwise the budgets of all the
    topologies in the run."""
    try:
        summary = json.loads((latest / "summary.json").read_text(encoding="utf-8"))
        of, run = summary["topologies"], (latest.resolve().name, summary["verdict"])
        shown = {topology: of[topology]} if topology in of else of
        return [_budget(*run, name, one["journeys"]["all"]) for name, one in shown.items()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        # There is no run, or it has no budgets or is of another version: the shop starts anyway.
        return []


def _budget(run: str, verdict: str, topology: str, mix: Mapping[str, Any]) -> Budget:
    parts = sorted(mix["budget_ms"]["mean"].items(), key=lambda part: -part[1])
    shown, rest = parts[:MAX_PARTS], sum(ms for _, ms in parts[MAX_PARTS:])
    shown += [(f"{len(parts) - MAX_PARTS} other parts", rest)] if rest else []
    largest = max((ms for _, ms in shown), default=1.0) or 1.0
    rows = [(name, ms, 100 * ms / largest) for name, ms in shown]
    return Budget(run, verdict, topology, mix["latency_ms"]["p50"] or 0.0, rows, sum(ms for _, ms in parts))


def _protocols(topology: Topology, url: str, trusted: Path | None) -> Iterator[tuple[str, list[Request]]]:
    """The sample requests, by the name of the protocol."""
    curl = f"curl -s --cacert {shlex.quote(str(trusted))} {url}" if trusted else f"curl -s {url}"
    speaks = {topology.client_speaks(channel) for channel in topology.entry}
    if "graphql" in speaks:
        yield "GraphQL", _over_graphql(curl)
    if "graphql-services" in speaks:
        yield "GraphQL of each service", _over_services_graphql(curl)
    if speaks & {"rest", "rest-services"}:
        yield "REST", _over_rest(curl)
    if "rest-transcoded" in speaks:
        yield "REST, transcoded to gRPC by the edge", _over_transcoder(curl)
    if Protocol.GRPC in topology.exposed.values():
        safety = f"-cacert {shlex.quote(str(trusted))}" if trusted else "-plaintext"
        yield "gRPC", _over_grpc(f"grpcurl {safety}", urlsplit(url).netloc)
    if "connect" in speaks:
        yield "Connect (JSON)", _over_connect(curl)
    if "thrift-json" in speaks:
        yield "Thrift (TJSON over HTTP)", _over_thrift(curl)


def _three(products: str, login: str, orders: str, keep: str = _KEEP, title: str = "Products") -> list[Request]:
    return [
        Request(title, products),
        Request("Log in, and keep the token", f"TOKEN=$({login} | {keep})"),
        Request("The customer's orders", orders),
    ]


def _post(url: str, body: Mapping[str, object], header: str = "") -> str:
    return f"{url} -H 'content-type: application/json'{header} -d {shlex.quote(json.dumps(body))}"


def _over_graphql(curl: str) -> list[Request]:
    products, login = _post(f"{curl}/graphql", {"query": _PRODUCTS}), _post(f"{curl}/graphql", {"query": _LOGS_IN})
    orders = _post(f"{curl}/graphql", {"query": _ORDERS}, _AS_CUSTOMER)
    return _three(products, login, orders, title="Products with reviews")


def _over_services_graphql(curl: str) -> list[Request]:
    credentials = ", ".join(f"{name}: {json.dumps(value)}" for name, value in _LOGIN.items())
    products = _post(f"{curl}/graphql/product", {"query": _PRODUCTS_OF_SERVICE})
    login = _post(f"{curl}/graphql/user", {"query": f"mutation {{ login({credentials}) {{ token }} }}"})
    orders = _post(f"{curl}/graphql/order", {"query": _ORDERS_OF_SERVICE}, _AS_CUSTOMER)
    return _three(products, login, orders, title="Products with reviews")


def _over_rest(curl: str) -> list[Request]:
    orders = f"{curl}'/v1/users/1/orders?page_size=3'{_AS_CUSTOMER}"
    return _three(f"{curl}'/v1/products?page_size=3'", _post(f"{curl}/v1/sessions", _LOGIN), orders)


def _over_transcoder(curl: str) -> list[Request]:
    payment = f"{curl}'/v1/payments:batchGetByOrder?order_ids=1'{_AS_CUSTOMER}"
    return [
        Request("A document", f"{curl}/v1/documents/1"),
        Request("An order, with the token of a login by another protocol", f"{curl}/v1/orders/1{_AS_CUSTOMER}"),
        Request("Its payment, with the same token", payment),
    ]


def _over_grpc(grpcurl: str, place: str) -> list[Request]:
    def call(method: str, message: Mapping[str, object], header: str = "") -> str:
        return f"{grpcurl}{header} -d {shlex.quote(json.dumps(message))} {place} {method}"

    orders = call(_LIST_ORDERS, {"user_id": 1, "page_size": 3}, _AS_CUSTOMER)
    return _three(call(_LIST_PRODUCTS, {"page_size": 3}), call(_LOG_IN, _LOGIN), orders)


def _over_connect(curl: str) -> list[Request]:
    orders = _post(f"{curl}/{_LIST_ORDERS}", {"userId": 1, "pageSize": 3}, _AS_CUSTOMER)
    return _three(_post(f"{curl}/{_LIST_PRODUCTS}", {"pageSize": 3}), _post(f"{curl}/{_LOG_IN}", _LOGIN), orders)


def _over_thrift(curl: str) -> list[Request]:
    def call(service: str, method: str, request: Mapping[str, object], header: str = "") -> str:
        message = [1, method, 1, 1, {"2": {"rec": request}}]
        return (
            f"{curl}/thrift/{service} -H 'content-type: application/vnd.apache.thrift.json'{header} -d "
            + shlex.quote(json.dumps(message, separators=(",", ":")))  # Thrift's JSON may not contain spaces
        )

    login = call("user", "Login", {"1": {"str": DEMO_EMAIL}, "2": {"str": DEMO_PASSWORD}})
    orders = call("order", "ListOrdersByUser", {"1": {"i64": 1}, "2": {"i32": 3}}, _AS_CUSTOMER)
    return _three(call("product", "ListProducts", {"1": {"i32": 3}}), login, orders, _KEEP_OF_THRIFT)
