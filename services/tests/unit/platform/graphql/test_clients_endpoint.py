"""Clients' access to a service's own GraphQL: each call as the table says, at a cost within the gateway's limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphql
import httpx
import pytest

from graphql_gateways import DOCUMENTS, fields_of
from memory_shop import Data, MemoryShop
from shop.clients.graphql_documents import CallDocument
from shop.contract.calls import SERVICES, USER, Access, Service
from shop.contract.signatures import PortMethod, methods_of
from shop.platform.access import guesses
from shop.platform.access.guesses import MAX_FAILURES
from shop.platform.access.jwt import Principal, TokenSigner, TokenVerifier
from shop.platform.access.owners import apply_owner_rules
from shop.platform.access.rules import Authenticator
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER, MAX_S
from shop.platform.graphql.execution import returns_list
from shop.platform.graphql.limits import operations_of
from shop.platform.graphql.schema import core_schema
from shop.platform.graphql.service import TARIFF, client_path, graphql_app, schema_of
from shop.platform.graphql.subgraph import subgraph_of
from shop.platform.graphql.supergraph import SUBGRAPHS
from shop.platform.incoming import Incoming
from shop.user.bootstrap import offer

BY_NAME = {service.name: service for service in SERVICES}
OF_SERVICES = sorted(file for name in BY_NAME for file in (DOCUMENTS / name).glob("*.graphql"))
CALLS = [
    pytest.param(service, method, id=method.contract.name)
    for service in SERVICES
    for method in methods_of(service)
    if not method.watches
]
EDGE = "spiffe://cluster.local/ns/default/sa/edge"
FROM_ORDER = "By=x;URI=spiffe://cluster.local/ns/default/sa/order"


class ClientEndpoints:
    """The GraphQL endpoints of the services of a shop in memory.

    Args:
        edge: Identity of the edge, where callers have identities.
    """

    def __init__(self, signer: TokenSigner, verifier: TokenVerifier, edge: str | None = None) -> None:
        self.shop = MemoryShop(Data.largest())
        self._sign = signer.sign
        incoming = Incoming(Authenticator(verifier, edge, trusts_inside=True))
        around = {"user": offer(self.shop.use_cases("user")).around}
        self._apps = {
            one.name: graphql_app(
                one, apply_owner_rules(one, self.shop.use_cases(one.name)), incoming, around.get(one.name)
            )
            for one in SERVICES
        }

    async def post(self, service: str, body: dict[str, Any], path: str | None = None, **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(self._apps[service])
        # The longest limit, because other tests may keep the machine busy.
        headers = {DEADLINE_HEADER: f"{MAX_S * 1000:.0f}", **headers}
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
            return await http.post(path or client_path(service), json=body, headers=headers)

    async def answer(self, service: str, text: str, who: str = "", as_user: int = 1, **variables: Any) -> Any:
        headers = {"authorization": f"Bearer {self._sign(Principal(who, as_user))}"} if who else {}  # type: ignore[arg-type]
        return (await self.post(service, {"query": text, "variables": variables}, **headers)).json()

    async def code(self, service: str, text: str, who: str = "", as_user: int = 1, **variables: Any) -> str:
        return code_of(await self.answer(service, text, who, as_user, **variables))


def code_of(answer: Any) -> str:
    return str(answer["errors"][0]["extensions"]["code"]) if "errors" in answer else ""


@pytest.fixture
async def asked(signer: TokenSigner, verifier: TokenVerifier) -> ClientEndpoints:
    return ClientEndpoints(signer, verifier)


def empty_value(kind: Any) -> Any:
    """Returns the emptiest value of an input type."""
    if not graphql.is_non_null_type(kind):
        return None
    kind = kind.of_type
    if graphql.is_list_type(kind):
        return []
    if isinstance(kind, graphql.GraphQLInputObjectType):
        return {name: empty_value(of.type) for name, of in kind.fields.items() if graphql.is_non_null_type(of.type)}
    if isinstance(kind, graphql.GraphQLEnumType):
        return next(iter(kind.values))
    return "" if kind.name == "String" else 0


def empty_variables(service: Service[Any], text: str) -> dict[str, Any]:
    schema, (operation,) = core_schema(schema_of(service)), operations_of(graphql.parse(text))
    return {
        one.variable.name.value: empty_value(graphql.type_from_ast(schema, one.type))
        for one in operation.variable_definitions
    }


@pytest.mark.parametrize(("service", "method"), CALLS)
async def test_each_call_admits_the_callers_of_its_row(
    asked: ClientEndpoints, service: Service[Any], method: PortMethod[..., object]
) -> None:
    text, access = CallDocument(method).text, method.contract.access
    assert graphql.validate(core_schema(schema_of(service)), graphql.parse(text)) == []
    variables = empty_variables(service, text)
    refused = {"UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"}
    codes = {who: await asked.code(service.name, text, who, **variables) for who in ("", "customer", "partner")}
    if access is Access.INTERNAL:
        assert set(codes.values()) == {"PERMISSION_DENIED"}
    else:
        assert codes["partner"] not in refused
        assert (codes[""] == "UNAUTHENTICATED") == (access is not Access.EVERYBODY)
        if access is Access.PARTNER:
            assert codes["customer"] == "PERMISSION_DENIED"


async def test_calls_of_one_document_are_admitted_one_by_one(asked: ClientEndpoints) -> None:
    mine = Data.largest().orders[0].id
    text = f"{{ order(id: {mine}) {{ id }} other: orders(ids: [{mine}]) {{ id }} }}"
    assert await asked.code("order", text, "customer", 1) == "PERMISSION_DENIED"
    assert await asked.code("order", f"{{ order(id: {mine}) {{ id }} }}", "customer", 1) == ""
    assert await asked.code("order", f"{{ order(id: {mine}) {{ id }} }}", "customer", 2) == "NOT_FOUND"
    assert await asked.code("user", "{ user(id: 2) { id } }", "customer", 1) == "PERMISSION_DENIED"


async def test_a_call_counts_as_one_from_outside_wherever_it_comes_from(asked: ClientEndpoints) -> None:
    release = {"query": 'mutation { releaseReservation(reservationId: "x") { id } }'}
    assert code_of((await asked.post("product", release)).json()) == "PERMISSION_DENIED"
    assert code_of((await asked.post("product", release, path="/graphql")).json()) != "PERMISSION_DENIED"
    outside = {EDGE_MARK: "192.0.2.1"}
    assert code_of((await asked.post("product", release, path="/graphql", **outside)).json()) == "PERMISSION_DENIED"


async def test_callers_need_an_identity_where_they_have_some(signer: TokenSigner, verifier: TokenVerifier) -> None:
    known, read = ClientEndpoints(signer, verifier, EDGE), {"query": "{ product(id: 1) { id } }"}
    release = {"query": 'mutation { releaseReservation(reservationId: "x") { id } }'}
    certificate = "x-forwarded-client-cert"
    assert code_of((await known.post("product", read)).json()) == "UNAUTHENTICATED"
    assert code_of((await known.post("product", read, **{certificate: f"URI={EDGE}"})).json()) == ""
    for caller in (f"URI={EDGE}", FROM_ORDER):
        assert code_of((await known.post("product", release, **{certificate: caller})).json()) == "PERMISSION_DENIED"


async def test_there_are_no_subscriptions(asked: ClientEndpoints) -> None:
    watch = "subscription { watchNotifications(userId: 1) { position } }"
    assert await asked.code("notification", watch, "customer") == "INVALID_ARGUMENT"
    stream = f"{client_path('notification')}/stream"
    headers = {"accept": "text/event-stream"}
    assert (await asked.post("notification", {"query": watch}, path=stream, **headers)).status_code == 404


async def test_failed_logins_are_counted_by_address(asked: ClientEndpoints) -> None:
    async def refusal(address: str, number: int) -> str:
        text = f'mutation {{ login(email: "nobody{number}@example.com", password: "battery staple") {{ token }} }}'
        return code_of((await asked.post("user", {"query": text}, **{EDGE_MARK: address})).json())

    codes = [await refusal("192.0.2.77", number) for number in range(MAX_FAILURES + 1)]
    assert codes == ["UNAUTHENTICATED"] * MAX_FAILURES + ["TOO_MANY_REQUESTS"]
    assert await refusal("192.0.2.78", 0) == "UNAUTHENTICATED"


async def test_sign_ups_are_counted_by_address(asked: ClientEndpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MAX_SIGN_UPS", 1)
    (text,) = (CallDocument(method).text for method in methods_of(USER) if method.contract.name == "CreateUser")
    body = {"query": text, "variables": empty_variables(USER, text)}
    addresses = ("192.0.2.77", "192.0.2.77", "192.0.2.78")
    codes = [code_of((await asked.post("user", body, **{EDGE_MARK: address})).json()) for address in addresses]
    assert codes == ["INVALID_ARGUMENT", "TOO_MANY_REQUESTS", "INVALID_ARGUMENT"]


LINES = "id lines { id lineNumber productId quantity unitPrice { amountMinor currency } }"
DEAR = [
    ("order", f"{{ ordersByUser(userId: 1, pageSize: 50) {{ items {{ {LINES} }} }} }}", "customer", {}),
    ("order", f"query ($ids: [Long!]!) {{ orders(ids: $ids) {{ {LINES} }} }}", "partner", {"ids": list(range(1, 30))}),
    ("order", f"query ($a: Long!) {{ orders(ids: [{'$a, ' * 30}$a]) {{ {LINES} }} }}", "partner", {"a": 1}),
    ("product", "{ document(id: 1) { sections { records { text count value } } } product(id: 1) { id } }", "", {}),
    ("product", "{ productRows(limit: 20000) { productId } }", "", {}),
]


@pytest.mark.parametrize(("service", "text", "who", "variables"), DEAR)
async def test_costly_documents_are_refused_before_anything_runs(
    asked: ClientEndpoints, service: str, text: str, who: str, variables: dict[str, Any]
) -> None:
    answer = await asked.answer(service, text, who, **variables)
    assert code_of(answer) == "RESOURCE_EXHAUSTED"
    assert "the limit is 1" in answer["errors"][0]["message"]
    assert asked.shop.record.methods == []
    inside = await asked.post(service, {"query": text, "variables": variables}, path="/graphql")
    assert code_of(inside.json()) == "", "calls between components have no cost limit"


async def test_partners_may_spend_more(asked: ClientEndpoints) -> None:
    text = "{ orderLines(limit: 1500) { id orderId userId status placedAt productId quantity unitPrice { currency } } }"
    assert await asked.code("order", text, "customer") == "RESOURCE_EXHAUSTED"
    assert await asked.code("order", text, "partner") == ""


LARGEST = [
    ("order", f"{{ ordersByUser(userId: 1, pageSize: 16) {{ items {{ {LINES} }} nextPageToken }} }}"),
    ("order", f"{{ ordersByUser(userId: 1) {{ items {{ {LINES} }} }} }}"),
    ("product", "{ document(id: 1) { sections { title records { text count value ok at price { currency } } } } }"),
    ("product", "{ productPageWithReviews(reviewLimit: 20) { products { id reviews { id title } } } }"),
    ("product", "{ reviews(productIds: [1, 2, 3], limit: 20) { productId reviews { id body } } }"),
    ("product", "{ productRows { productId } }"),
    ("product", graphql.get_introspection_query(descriptions=True)),
]


@pytest.mark.parametrize(("service", "text"), LARGEST)
async def test_no_answer_has_more_fields_than_its_document_costs(
    asked: ClientEndpoints, service: str, text: str
) -> None:
    """An answer with more fields would be cut off, so the largest possible answers show whether any answer is."""
    answer = await asked.answer(service, text, "customer")
    assert "errors" not in answer
    assert fields_of(answer["data"]) > 50


def test_every_list_without_a_length_argument_has_a_bound() -> None:
    lists = set()
    for schema in (*map(schema_of, SERVICES), *map(subgraph_of, SUBGRAPHS.values())):
        for named in core_schema(schema).type_map.values():
            if not isinstance(named, graphql.GraphQLObjectType) or named.name.startswith("__"):
                continue
            for name, field in named.fields.items():
                bounds = [bound for bound in TARIFF.bounds if bound in field.args][:1]
                is_list = returns_list(field) and not named.name.endswith(TARIFF.pages)
                if (is_list and bounds in ([], ["limit"])) or bounds == ["pageSize"]:
                    lists.add((named.name, name))
    assert lists == set(TARIFF.items)


@pytest.mark.parametrize("file", OF_SERVICES, ids=lambda file: file.stem)
def test_the_generator_s_documents_fit_the_schemas(file: Path) -> None:
    assert graphql.validate(core_schema(schema_of(BY_NAME[file.parent.name])), graphql.parse(file.read_text())) == []
