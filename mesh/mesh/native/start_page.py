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
_ORDERS = "{ me { name orders(first: 3) { edges { node { status total { amountMinor } lines { quantity } } } } } }"
_LOGS_IN = f'mutation {{ login(input: {{email: "{DEMO_EMAIL}", password: "{DEMO_PASSWORD}"}}) {{ token }} }}'
MAX_PARTS = 12
"""How many of a budget's parts are listed; the other parts are added up."""


@dataclass(frozen=True)
class Request:
    """A command that sends a request.

    Attributes:
        title: Description of the request.
        command: The command, for a shell.
    """

    title: str
    command: str


@dataclass(frozen=True)
class Budget:
    """The hop budget of the last run's mix of journeys.

    Attributes:
        run: Name of the run's folder.
        verdict: VALID, NOISY or WRONG.
        topology: Name of its topology.
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
        topology: The topology.
        url: URL of the edge.
        links: Other pages, by their titles.
        trusted: File of the certificate that clients must trust; None without TLS.
        latest: Folder of the last run.
        describer: Name of the component that describes the gRPC services; empty for none.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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
    curl = f"curl -s --cacert {shlex.quote(str(trusted))}" if trusted else "curl -s"
    speaks = {topology.client_speaks(channel) for channel in topology.entry}
    if "graphql" in speaks:
        yield "GraphQL", list(_over_graphql(f"{curl} {url}"))
    if "graphql-services" in speaks:
        yield "GraphQL of each service", list(_over_services_graphql(f"{curl} {url}"))
    if speaks & {"rest", "rest-services"}:
        yield "REST", list(_over_rest(f"{curl} {url}"))
    if "rest-transcoded" in speaks:
        yield "REST, transcoded to gRPC by the edge", list(_over_transcoder(f"{curl} {url}"))
    if Protocol.GRPC in topology.exposed.values():
        safety = f"-cacert {shlex.quote(str(trusted))}" if trusted else "-plaintext"
        yield "gRPC", list(_over_grpc(f"grpcurl {safety}", urlsplit(url).netloc))
    if "connect" in speaks:
        yield "Connect (JSON)", list(_over_connect(f"{curl} {url}"))
    if "thrift-json" in speaks:
        yield "Thrift (TJSON over HTTP)", list(_over_thrift(f"{curl} {url}"))


def _over_graphql(curl: str) -> Iterator[Request]:
    def ask(document: str, header: str = "") -> str:
        body = shlex.quote(json.dumps({"query": document}))
        return f"{curl}/graphql -H 'content-type: application/json'{header} -d {body}"

    yield Request("Products with reviews", ask(_PRODUCTS))
    yield Request("Log in, and keep the token", f"TOKEN=$({ask(_LOGS_IN)} | {_KEEP})")
    yield Request("The customer's orders", ask(_ORDERS, _AS_CUSTOMER))


def _over_services_graphql(curl: str) -> Iterator[Request]:
    def ask(service: str, document: str, header: str = "") -> str:
        body = shlex.quote(json.dumps({"query": document}))
        return f"{curl}/graphql/{service} -H 'content-type: application/json'{header} -d {body}"

    credentials = ", ".join(f"{name}: {json.dumps(value)}" for name, value in _LOGIN.items())
    login = ask("user", f"mutation {{ login({credentials}) {{ token }} }}")
    orders = "{ ordersByUser(userId: 1, pageSize: 3) { items { id status lines { productId quantity } } } }"
    yield Request("Products with reviews", ask("product", _PRODUCTS_OF_SERVICE))
    yield Request("Log in, and keep the token", f"TOKEN=$({login} | {_KEEP})")
    yield Request("The customer's orders", ask("order", orders, _AS_CUSTOMER))


def _over_rest(curl: str) -> Iterator[Request]:
    body = shlex.quote(json.dumps(_LOGIN))
    login = f"{curl}/v1/sessions -H 'content-type: application/json' -d {body}"
    yield Request("Products", f"{curl}'/v1/products?page_size=3'")
    yield Request("Log in, and keep the token", f"TOKEN=$({login} | {_KEEP})")
    yield Request("The customer's orders", f"{curl}'/v1/users/1/orders?page_size=3'{_AS_CUSTOMER}")


def _over_transcoder(curl: str) -> Iterator[Request]:
    yield Request("A document", f"{curl}/v1/documents/1")
    yield Request("An order, with the token of a login by another protocol", f"{curl}/v1/orders/1{_AS_CUSTOMER}")
    yield Request("Its payment, with the same token", f"{curl}'/v1/payments:batchGetByOrder?order_ids=1'{_AS_CUSTOMER}")


def _over_grpc(grpcurl: str, place: str) -> Iterator[Request]:
    def call(method: str, message: Mapping[str, object], header: str = "") -> str:
        return f"{grpcurl}{header} -d {shlex.quote(json.dumps(message))} {place} {method}"

    page = {"page_size": 3}
    yield Request("Products", call("shop.product.v1.ProductService/ListProducts", page))
    yield Request("Log in, and keep the token", f"TOKEN=$({call('shop.user.v1.UserService/Login', _LOGIN)} | {_KEEP})")
    mine = call("shop.order.v1.OrderService/ListOrdersByUser", {"user_id": 1, **page}, _AS_CUSTOMER)
    yield Request("The customer's orders", mine)


def _over_connect(curl: str) -> Iterator[Request]:
    def call(method: str, message: Mapping[str, object], header: str = "") -> str:
        body = shlex.quote(json.dumps(message))
        return f"{curl}/{method} -H 'content-type: application/json'{header} -d {body}"

    yield Request("Products", call("shop.product.v1.ProductService/ListProducts", {"pageSize": 3}))
    yield Request("Log in, and keep the token", f"TOKEN=$({call('shop.user.v1.UserService/Login', _LOGIN)} | {_KEEP})")
    mine = call("shop.order.v1.OrderService/ListOrdersByUser", {"userId": 1, "pageSize": 3}, _AS_CUSTOMER)
    yield Request("The customer's orders", mine)


def _over_thrift(curl: str) -> Iterator[Request]:
    def call(service: str, method: str, request: Mapping[str, object], header: str = "") -> str:
        message = [1, method, 1, 1, {"2": {"rec": request}}]
        return (
            f"{curl}/thrift/{service} -H 'content-type: application/vnd.apache.thrift.json'{header} -d "
            + shlex.quote(json.dumps(message, separators=(",", ":")))  # Thrift's JSON may not contain spaces
        )

    login = {"1": {"str": DEMO_EMAIL}, "2": {"str": DEMO_PASSWORD}}
    yield Request("Products", call("product", "ListProducts", {"1": {"i32": 3}}))
    yield Request("Log in, and keep the token", f"TOKEN=$({call('user', 'Login', login)} | {_KEEP_OF_THRIFT})")
    mine = {"1": {"i64": 1}, "2": {"i32": 3}}
    yield Request("The customer's orders", call("order", "ListOrdersByUser", mine, _AS_CUSTOMER))
