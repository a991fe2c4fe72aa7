"""`make prove-edge-cache`, `python -m proofs edge-cache`: customers read through a shared cache while prices change.

Each change increments a product's price, so a price shows which changes an answer includes. A read is stale if it
misses a change that was acknowledged before the read began; its staleness is the time between these two moments.
Customers also request accounts with the owner's token, with another customer's and without a token; only the owner may
get an account. They use each protocol of the topology's clients whose answers can be cached: REST, and GraphQL with
persisted queries sent by GET.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlencode

import aiohttp
import typer

from hops.gates.trial import audit_verdict
from hops.run.documents.gate import Verdict
from mesh.components.edge_cache import BOUND_SETTING
from mesh.components.keys import key_pair
from mesh.description.options import Json
from mesh.description.ports import HOST, load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import EDGE, EDGE_CACHE, Topology, load_topology
from mesh.errors import InputError
from mesh.native.system import System
from proofs.outcome import Progress, proves, with_progress
from proofs.under_faults import crowd
from proofs.under_faults.crowd import first_missed
from shop.platform.access.jwt import Principal, TokenSigner

WORKERS = 8
PRODUCTS_EACH = 20
"""Number of products of each worker; no other worker changes them."""
CHANGES, PRODUCTS, LISTS = 0.02, 0.70, 0.13
"""Shares of a worker's requests that change a price, read one product, and read several; the rest read accounts."""
BOUND_S = 5
"""How long the cache may keep an answer, in seconds; short, so that an answer that is never removed is noticed."""
TAKEN_OUT_S = 1.0
"""How long after a change a stale answer may stay in the cache on an idle machine, in seconds."""
MAX_LATE_SHARE = 0.001
"""Share of late reads above which a busy machine does not explain them."""
REQUEST_LIMIT_S = 10.0
PROGRESS_S = 2.0


@dataclass(kw_only=True)
class Outcome(crowd.Outcome):
    """Results of the requests.

    Attributes:
        hits: Number of reads of products that the cache answered itself, by protocol.
        foreign: Answers that belonged to another customer, or came without a token.
        missed: Reads that missed a change which was acknowledged before they began.
        late: Number of these reads that began more than `TAKEN_OUT_S` after the change.
        max_stale_s: How stale the worst read was, in seconds.
        max_request_s: Duration of the longest request, in seconds. It includes the cache's fetch, in which answers age.
    """

    HELD = "No customer saw another's answer, and no price was too old."
    NOT_SHOWN = "requests failed or changes came late while other programs used the machine."
    requests: int = 0
    changes: int = 0
    hits: dict[str, int] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    missed: int = 0
    late: int = 0
    max_stale_s: float = 0.0
    max_request_s: float = 0.0
    failed: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        # Answers may not be another customer's or too old, and the cache must have been in use.
        unseen = self.late > MAX_LATE_SHARE * self.requests
        too_old = self.max_stale_s > BOUND_S + self.max_request_s
        broken = len(self.foreign) + too_old + unseen + (min(self.hits.values(), default=0) == 0) + (self.changes == 0)
        return audit_verdict(broken, len(self.failed) + self.late, 0, self.other_cores)

    def sentences(self) -> list[str]:
        hits = " and ".join(f"{count:,} {name}" for name, count in self.hits.items())
        return [
            f"{self.requests:,} requests in {self.wall_s:.0f} s, while {self.changes:,} prices changed; the cache "
            f"answered {hits} reads of products.",
            f"{len(self.foreign)} answers belonged to another customer; {len(self.failed)} requests failed.",
            f"{self.missed:,} reads missed a change that was acknowledged before they began, {self.late} of them "
            f"{TAKEN_OUT_S:g} s later or more.",
            f"The worst was {self.max_stale_s * 1_000:.0f} ms old, allowed: {BOUND_S} s and the time of a request "
            f"({self.max_request_s * 1_000:.0f} ms).",
            *(f"FAILED: {what}" for what in (self.foreign + self.failed)[:10]),
        ]


Headers: TypeAlias = Mapping[str, str]
NOTHING: Headers = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Door:
    """How customers read over one protocol.

    Attributes:
        products: Path and query of a request for one product or several, by their ids.
        prices: Extracts the prices from the answer, by the products' ids.
        account: Path and query of a request for a customer's account.
        owner: Extracts the id of the customer whose account the answer shows.
        documents: Documents to register before the first request.
    """

    name: str
    products: Callable[[Sequence[int]], str]
    prices: Callable[[Any], dict[int, int]]
    account: Callable[[int], str]
    owner: Callable[[Any], int]
    documents: Sequence[str] = ()


def _rest_path(ids: Sequence[int]) -> str:
    return f"/v1/products/{ids[0]}" if len(ids) == 1 else f"/v1/products?ids={','.join(map(str, ids))}"


def _rest_prices(body: Any) -> dict[int, int]:
    return {one["id"]: one["price"]["amount_minor"] for one in body.get("products", [body])}


def _document(names: str) -> str:
    variables = ", ".join(f"${name}: ID!" for name in names)
    fields = (f"{name}: product(id: ${name}) {{ id price {{ amountMinor }} }}" for name in names)
    return f"query({variables}) {{ {' '.join(fields)} }}"


NAMES = "abc"
"""Names of the products in an answer over GraphQL."""
ACCOUNT = "query($a: ID!) { user(id: $a) { id name email } }"


def _name_document(document: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(document.encode()).hexdigest()}}


def _graphql_path(document: str, kind: str, ids: Sequence[int]) -> str:
    named = zip(NAMES, ids, strict=False)
    variables = {name: base64.b64encode(f"{kind}:{id_}".encode()).decode() for name, id_ in named}
    query = {"variables": variables, "extensions": _name_document(document)}
    return f"/graphql?{urlencode({name: json.dumps(value, separators=(',', ':')) for name, value in query.items()})}"


def _number(global_id: str) -> int:
    return int(base64.b64decode(global_id).decode().rpartition(":")[2])


REST = Door("REST", _rest_path, _rest_prices, "/v1/users/{}".format, lambda body: int(body["id"]))
GRAPHQL = Door(
    "GraphQL",
    lambda ids: _graphql_path(_document(NAMES[: len(ids)]), "Product", ids),
    lambda body: {_number(one["id"]): one["price"]["amountMinor"] for one in body["data"].values()},
    lambda id_: _graphql_path(ACCOUNT, "User", [id_]),
    lambda body: _number(body["data"]["user"]["id"]),
    (_document(NAMES[:1]), _document(NAMES), ACCOUNT),
)
SPOKEN = {"rest": REST, "rest-services": REST, "graphql": GRAPHQL}
"""The protocols whose answers the cache keeps, by the clients' request format."""
TEMPORARY = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL")
"""Codes of errors that say nothing about who may read."""


def doors_of(topology: Topology) -> list[Door]:
    """Returns how customers read through the cache. Raises InputError without REST, over which prices change."""
    spoken = {SPOKEN.get(topology.client_speaks(channel)) for channel in topology.entry}
    doors = [door for door in (REST, GRAPHQL) if door in spoken]
    if REST not in doors:
        raise InputError(
            f"topology={topology.name}: prices change over REST, which none of its clients speaks; valid: rest, "
            "rest-bff, hybrid, graphql-over-rest"
        )
    return doors


class _Connection:
    """A connection on which a worker sends one request at a time."""

    def __init__(self, port: int) -> None:
        limit = aiohttp.ClientTimeout(total=REQUEST_LIMIT_S)
        connector = aiohttp.TCPConnector(limit=1)
        self._session = aiohttp.ClientSession(f"http://{HOST}:{port}", connector=connector, timeout=limit)

    async def ask(
        self, method: str, path: str, headers: Headers = NOTHING, body: Any = None
    ) -> tuple[Any, str | None, bool]:
        """Sends a request; returns the answer, its error code or None, and whether the cache answered by itself."""
        sent = {"Accept-Encoding": "identity", **headers}
        async with self._session.request(method, path, headers=sent, json=body) as answer:
            decoded = json.loads(await answer.read())
            errors = decoded.get("errors")
            code = errors[0]["extensions"]["code"] if errors else decoded.get("code")
            return decoded, code, answer.headers.get("cache-status", "").endswith("; hit")

    async def close(self) -> None:
        await self._session.close()


class _Customers:
    def __init__(self, system: System, requests: int, seed: int, outcome: Outcome) -> None:
        self._ports = system.ports
        self._doors = doors_of(system.topology)
        self._left, self._seed, self._outcome = requests, seed, outcome
        outcome.hits = {door.name: 0 for door in self._doors}
        signer = TokenSigner(key_pair(system.folder.keys).private.read_bytes())

        def token(principal: Principal) -> Headers:
            return {"Authorization": f"Bearer {signer.sign(principal)}"}

        self._tokens = {id_: token(Principal("customer", id_)) for id_ in range(1, WORKERS + 1)}
        self._partner = token(Principal("partner", 1))
        self._acknowledged: dict[int, list[float]] = {}

    async def run(self) -> None:
        shops = [_Connection(self._ports[EDGE]) for _ in range(WORKERS)]
        for document in (document for door in self._doors for document in door.documents):
            await shops[0].ask("POST", "/graphql", body={"query": document, "extensions": _name_document(document)})
        for number, shop in enumerate(shops):
            for id_ in _products_of(number):
                self._acknowledged[id_] = []
                await self._change(shop, id_)
        # Every product has been changed once, so answers from before these changes have left the cache.
        await asyncio.gather(*(self._worker(number, shop) for number, shop in enumerate(shops)))

    async def _worker(self, number: int, shop: _Connection) -> None:
        chance, cache = random.Random(f"{self._seed}/{number}"), _Connection(self._ports[EDGE_CACHE])
        everything = list(self._acknowledged)
        while self._left > 0:
            draw, door = chance.random(), chance.choice(self._doors)
            try:
                if draw < CHANGES:
                    await self._change(shop, chance.choice(list(_products_of(number))))
                    continue
                self._left -= 1
                self._outcome.requests += 1
                began = time.time()
                if draw < CHANGES + PRODUCTS:
                    await self._read(cache, door, [chance.choice(everything)])
                elif draw < CHANGES + PRODUCTS + LISTS:
                    await self._read(cache, door, sorted(chance.sample(everything[:PRODUCTS_EACH], len(NAMES))))
                else:
                    await self._read_own(cache, door, chance.randint(1, WORKERS), chance.choice([None, *self._tokens]))
                self._outcome.max_request_s = max(self._outcome.max_request_s, time.time() - began)
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError, LookupError) as error:
                self._outcome.failed.append(f"{type(error).__name__}: {error}")
        await cache.close()
        await shop.close()

    async def _change(self, shop: _Connection, id_: int) -> None:
        price = {"price": {"amount_minor": 1 + len(self._acknowledged[id_]), "currency": "EUR"}}
        _, code, _ = await shop.ask("PATCH", f"/v1/products/{id_}", {"If-Match": "*", **self._partner}, price)
        if code is not None:
            raise OSError(f"the change to the price of product {id_} failed: {code}")
        self._acknowledged[id_].append(time.time())
        self._outcome.changes += 1

    async def _read(self, cache: _Connection, door: Door, ids: Sequence[int]) -> None:
        began = time.time()
        body, code, hit = await cache.ask("GET", door.products(ids))
        if code is not None:
            raise OSError(f"the read of products {ids} over {door.name} failed: {code}")
        self._outcome.hits[door.name] += hit
        prices = door.prices(body)
        for id_ in ids:
            missed_s = first_missed(self._acknowledged[id_], prices[id_], began)
            if missed_s is not None:
                stale_s = began - missed_s
                self._outcome.missed += 1
                self._outcome.late += stale_s > TAKEN_OUT_S
                self._outcome.max_stale_s = max(self._outcome.max_stale_s, stale_s)

    async def _read_own(self, cache: _Connection, door: Door, owner: int, reader: int | None) -> None:
        body, code, _ = await cache.ask("GET", door.account(owner), NOTHING if reader is None else self._tokens[reader])
        account = f"the account of {owner} over {door.name}"
        if code in TEMPORARY:
            raise OSError(f"the read of {account} failed: {code}")
        refusal = "UNAUTHENTICATED" if reader is None else "PERMISSION_DENIED"
        expected, got = owner if reader == owner else refusal, code or door.owner(body)
        if got != expected:
            self._outcome.foreign.append(f"{account}, read as {reader}: {got} instead of {expected}")


def _products_of(number: int) -> range:
    return range(1 + number * PRODUCTS_EACH, 1 + (number + 1) * PRODUCTS_EACH)


def run_requests(system: System, requests: int, seed: int, progress: Progress) -> Outcome:
    """Lets customers read through the cache while prices change. Call it from the thread that started the system."""
    outcome = Outcome()
    with outcome.measure(system):
        customers = crowd.start(_Customers(system, requests, seed, outcome).run)
        while not crowd.have_finished(customers, PROGRESS_S):
            system.check()
            progress(outcome.requests)
    return outcome


@proves("prove-edge-cache")
def prove_edge_cache(
    *,
    topology: str,
    requests: Annotated[int, typer.Option(min=1)],
    rtt: str,
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Read through a shared cache while prices change. Exit code 3 if an answer was too old or another customer's."""
    chosen = load_topology(topology)
    doors_of(chosen)
    switches = parse_switches(edge_cache="varnish", http="1", rtt=rtt, trace="0")
    settings = {EDGE_CACHE: {BOUND_SETTING: str(BOUND_S)}}
    with System(chosen, switches, load_ports(os.environ), "prove", extra=settings) as system:
        outcome = with_progress("Requests", requests, lambda step: run_requests(system, requests, seed, step))
    outcome.give(as_json=as_json)
