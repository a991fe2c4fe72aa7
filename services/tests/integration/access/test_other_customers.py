"""No customer reaches another customer's things, with any argument of any contract.

The attempts are generated from the contracts, so that a new method, route or field is covered automatically. Services
apply the rules to their ports, below every protocol, so gRPC and REST represent their other protocols. Each attempt is
made through the real edge, with the identifier of another customer's order, payment, user, page, key and so on. It is
made again with an identifier of the same form that does not exist, and both answers must be the same. To show that an
attempt is valid, the owner or a partner then makes both calls too, and must get two different answers.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
import httpx
import psycopg
import pytest

from inserted_rows import insert
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.components.trial import as_it_runs
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import TRANSCODER, Protocol, Topology, load_topology
from mesh.description.topology import names as topology_names
from mesh.native.system import System
from shop.platform import page_token
from shop.platform.access.jwt import Principal, TokenSigner

from .contract import NONCES, Attempt, Ids, Kind, UnclassifiedError, classify, normalize, resource_of
from .over_graphql import graphql_attempts, hidden_fields, post
from .over_grpc import grpc_attempts, transcoder_attempts
from .over_rest import gateway_documents, rest_attempts, service_documents

# Values that only the victim's things contain.
EMAIL, STREET, TOTAL = "victim-marker@example.com", "Victim Lane 1", 1_234_567
MARKERS = (EMAIL, STREET, str(TOTAL))
NOBODY = 99_999
READS = ("GraphQL query", "REST GET", "gRPC Get", "gRPC BatchGet")
ATTACKER = Ids(user=1, order=1, payment=1, line=1, checkout=str(uuid.uuid4()), page="", key="")
MISSING = Ids(
    user=NOBODY,
    order=NOBODY,
    payment=NOBODY,
    line=NOBODY,
    checkout=str(uuid.uuid4()),
    page=page_token.encode(f"ListOrdersByUser:{NOBODY}", NOBODY),
    key=uuid.uuid4().hex,
)
# The answers to calls that no outside caller may make: a service's answer, and that of an edge without such a route.
CLOSED = ("only the shop's own services may do this", '"detail":"there is nothing at this path"')


TOPOLOGIES = ("rest", "graphql-naive", "hybrid", "hybrid-transcoded")
TRIED = (Protocol.REST, Protocol.GRPC)
"""Protocols over which services are called."""


@dataclass
class Shop:
    """A running topology, and the customer whose things are attacked."""

    attempts: list[Attempt]
    victim: Ids
    http: httpx.Client
    signer: TokenSigner
    database: psycopg.Connection
    graphql: bool

    def token(self, kind: Any, number: int) -> str:
        return self.signer.sign(Principal(kind, number))

    def answers(self, attempt: Attempt, token: str, own: Ids) -> tuple[str, str]:
        """Makes an attempt with the victim's identifier and with a missing identifier; returns both answers."""
        answers = []
        for ids in (self.victim, MISSING):
            value = ids.of(attempt.kind)
            if attempt.kind is Kind.KEY and ids is MISSING:
                value = NONCES.new()
            answers.append(attempt.send(token, own, value))
        return answers[0], answers[1]

    def rows(self) -> list[Any]:
        mine = {
            "shop_user.account": "id = %(user)s",
            "shop_order.orders": "user_id = %(user)s",
            "shop_order.order_line": "order_id = %(order)s",
            "shop_order.checkout": "user_id = %(user)s",
            "shop_order.cancellation": "order_id = %(order)s",
            "shop_payment.payment": "user_id = %(user)s OR order_id = %(order)s",
            "shop_product.reservation": "id = %(checkout)s",
            "shop_shared.deleted_user": "id = %(user)s",
        }
        ids = {"user": self.victim.user, "order": self.victim.order, "checkout": self.victim.checkout}
        return [
            self.database.execute(f"SELECT t::text FROM {table} t WHERE {which} ORDER BY 1".encode(), ids).fetchall()
            for table, which in mine.items()
        ]


def doors_of(topology: Topology) -> frozenset[tuple[object, ...]]:
    """Returns the entrances of a topology: services by protocol, gateways by plan, and the transcoder."""
    exposed = {("service", protocol) for protocol in topology.exposed.values() if protocol in TRIED}
    gateways = {(name, topology.plan) for name in topology.gateways}
    by_edge = {(entry,) for entry in topology.entry.values() if entry == TRANSCODER}
    return frozenset(exposed | gateways | by_edge)


@pytest.fixture(params=TOPOLOGIES)
def shop(request: pytest.FixtureRequest, shop_ports: Ports) -> Iterator[Shop]:
    topology = load_topology(request.param)
    given = parse_switches(trace=0, cache="valkey")
    with (
        System(topology, as_it_runs(topology, given), shop_ports, "other-customers") as system,
        closing(psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), autocommit=True)) as database,
        httpx.Client(base_url=system.url, trust_env=False, timeout=10) as http,
        grpc.insecure_channel(shop_ports.address("edge"), options=[("grpc.enable_http_proxy", 0)]) as channel,
    ):
        with open(json.loads(system.target.read_text())["jwt_private_key"], "rb") as key:
            signer = TokenSigner(key.read())
        attempts = list(_attempts(topology, http, channel))
        graphql = "graphql-gateway" in topology.gateways
        yield Shop(attempts, _add_victim(database), http, signer, database, graphql)


def _attempts(topology: Topology, http: httpx.Client, channel: grpc.Channel) -> Iterator[Attempt]:
    exposed = set(topology.exposed.values())
    if "graphql-gateway" in topology.gateways:
        yield from graphql_attempts(http)
    if "rest-gateway" in topology.gateways:
        yield from rest_attempts(http, gateway_documents())
    if Protocol.REST in exposed:
        yield from rest_attempts(http, service_documents())
    if Protocol.GRPC in exposed:
        yield from grpc_attempts(channel)
    if topology.transcodes:
        yield from transcoder_attempts(http)


def _add_victim(database: psycopg.Connection) -> Ids:
    """Adds a customer with an order; all identifiers have five digits, like NOBODY's."""
    checkout, key, add = str(uuid.uuid4()), uuid.uuid4().hex, partial(insert, database)
    known = dict.fromkeys(("name", "recipient", "city", "postal_code"), "V")
    user = add("shop_user.account", email=EMAIL, street=STREET, country_code="DE", password_hash="", **known)
    bought = {"checkout_id": checkout, "user_id": user, "currency": "EUR", "placed_at": "now"}
    order = add("shop_order.orders", status="CONFIRMED", total_minor=TOTAL, **bought)
    line = {"order_id": order, "line_number": 1, "product_id": 9000, "quantity": 1, "unit_price_minor": TOTAL}
    line_id = add("shop_order.order_line", **line)
    saga = {"state": "COMPLETED", "step": "SETTLE", "instance": "x", "boot": checkout, "lease_until": "now"}
    of_key = {"user_id": user, "idempotency_key": key, "request_hash": "", "order_id": order}
    add("shop_order.checkout", id=checkout, **of_key, **saga)
    payment = add("shop_payment.payment", order_id=order, status="CAPTURED", amount_minor=TOTAL, **bought)
    add("shop_product.reservation", id=checkout, state="HELD")
    add("shop_product.review", id=30001, product_id=9000, user_id=user, rating=5, title="T", body="B")
    return Ids(user, order, payment, line_id - 1, checkout, page_token.encode(f"ListOrdersByUser:{user}", NOBODY), key)


def test_the_topologies_have_every_entrance() -> None:
    ours = [topology for topology in map(load_topology, topology_names()) if not topology.programs]
    tried = {door for name in TOPOLOGIES for door in doors_of(load_topology(name))}
    assert tried == {door for topology in ours for door in doors_of(topology)}


def test_an_unclassified_argument_fails() -> None:
    for name in ("voucher_id", "id", "ids"):
        with pytest.raises(UnclassifiedError, match=name):
            classify("GetVoucher", name, resource_of("GetVoucher"), names_user=False)


def test_other_customers_things_are_as_if_they_did_not_exist(shop: Shop) -> None:
    assert len(shop.attempts) >= 10
    attacker, partner, owner = (
        shop.token("customer", 1),
        shop.token("partner", 1),
        shop.token("customer", shop.victim.user),
    )
    before = shop.rows()
    for attempt in shop.attempts:
        if attempt.name.startswith(READS):
            # When the attacker asks, the cache already contains the rows that the owner and a partner have read.
            for token in (owner, partner):
                shop.answers(attempt, token, shop.victim)
        taken, missing = shop.answers(attempt, attacker, ATTACKER)
        same = normalize(attempt, shop.victim.of(attempt.kind), taken)
        assert same == normalize(attempt, MISSING.of(attempt.kind), missing), attempt.name
        assert not any(marker in taken for marker in MARKERS), attempt.name
    assert shop.rows() == before
    if shop.graphql:
        for field in hidden_fields():
            product = "UHJvZHVjdDo5MDAw"
            answer = post(
                shop.http,
                attacker,
                f'{{ product(id: "{product}") {{ reviews(first: 9) {{ author {{ {field} }} }} }} }}',
            )
            assert "PERMISSION_DENIED" in answer, field
            assert not any(marker in answer for marker in MARKERS), field

    # An attempt that cannot succeed proves nothing, so entitled callers must get a different answer for an unknown id.
    for attempt in sorted(shop.attempts, key=lambda attempt: "delete" in attempt.name.lower()):
        for token in (owner, partner):
            taken, missing = shop.answers(attempt, token, shop.victim)
            same = normalize(attempt, MISSING.of(attempt.kind), missing)
            closed = attempt.ignored or any(answer in taken for answer in CLOSED)
            if closed or normalize(attempt, shop.victim.of(attempt.kind), taken) != same:
                break
        else:
            pytest.fail(f"{attempt.name}: neither the owner nor a partner reaches anything:\n{taken}")

    # The attempts have deleted the account; its token is still valid for an hour, but gives access to nothing.
    assert shop.rows()[0] == []
    for attempt in shop.attempts:
        taken, missing = shop.answers(attempt, owner, shop.victim)
        assert not any(marker in taken + missing for marker in MARKERS), attempt.name
        if attempt.kind in (Kind.ORDER, Kind.PAYMENT):
            same = normalize(attempt, shop.victim.of(attempt.kind), taken)
            assert same == normalize(attempt, MISSING.of(attempt.kind), missing), attempt.name
    reads = shop.rows()
    assert reads[1], "orders stay"
    assert reads[5], "payments stay"
