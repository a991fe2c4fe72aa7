"""`make prove-edge-cache`, `python -m proofs.edge_cache`: customers read through a shared cache while prices change.

A product's price counts its changes, so a price shows which changes an answer has seen. A read that began after a
change was acknowledged and misses it is stale by the time in between. Customers also request accounts, with the owner's
token, with another customer's and without a token: only the owner may get an account.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

import aiohttp
import typer

from experiment.commands.options import end, in_ci
from experiment.trial.resources import OtherWork
from hops.gates.trial import audit_verdict
from hops.run.documents.gate import NOISY, VALID, WRONG, Verdict
from mesh.components.edge_cache import BOUND_SETTING
from mesh.components.keys import key_pair
from mesh.description.options import Json, takes_settings
from mesh.description.ports import HOST, load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import EDGE_CACHE, load_topology
from mesh.native.system import System
from mesh.supervisor.reporting import reported
from proofs.crowd import Crowd, first_missed
from shop.platform.access.jwt import Principal, TokenSigner

WORKERS = 8
PRODUCTS_EACH = 20
"""Products of each worker, which no other worker changes."""
CHANGES, PRODUCTS, LISTS = 0.02, 0.70, 0.13
"""Shares of a worker's requests: change a price, read a product, read several; the rest reads customers' accounts."""
BOUND_S = 5
"""How long the cache may keep an answer, in seconds; short, so that an answer that is never removed would show."""
TAKEN_OUT_S = 1.0
"""How long after a change a stale answer may stay in the cache on an idle machine, in seconds."""
MAX_LATE_SHARE = 0.001
"""Share of late reads above which a busy machine is no explanation."""
REQUEST_LIMIT_S = 10.0
PROGRESS_S = 2.0
VERDICTS = {
    VALID: "No customer saw another's answer, and no price was too old.",
    NOISY: "NOT SHOWN: requests failed or changes came late while other programs used the machine.",
    WRONG: "The proof FAILED.",
}


@dataclass(slots=True)
class Outcome:
    """Results of the requests.

    Attributes:
        requests: Requests to the cache.
        changes: Number of changed prices.
        hits: Requests that the cache answered itself.
        foreign: Answers that belonged to another customer, or came without a token.
        missed: Reads that missed a change which was acknowledged before they began.
        late: Number of these reads that began more than `TAKEN_OUT_S` after the change.
        max_stale_s: How stale the worst read was, in seconds.
        max_request_s: The longest request, in seconds. It includes any fetch, whose answer ages meanwhile.
        failed: Messages of failed requests.
        wall_s: Duration, in seconds.
        other_cores: Cores that other programs used meanwhile.
    """

    requests: int = 0
    changes: int = 0
    hits: int = 0
    foreign: list[str] = field(default_factory=list)
    missed: int = 0
    late: int = 0
    max_stale_s: float = 0.0
    max_request_s: float = 0.0
    failed: list[str] = field(default_factory=list)
    wall_s: float = 0.0
    other_cores: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The verdict: WRONG if answers were another customer's or too old, or the cache was not in use."""
        unseen = self.late > MAX_LATE_SHARE * self.requests
        too_old = self.max_stale_s > BOUND_S + self.max_request_s
        broken = len(self.foreign) + too_old + unseen + (self.hits == 0) + (self.changes == 0)
        return audit_verdict(broken, len(self.failed) + self.late, 0, self.other_cores)

    def as_dict(self) -> dict[str, Any]:
        """Returns the outcome for programs."""
        return {"verdict": self.verdict, **asdict(self)}


Headers: TypeAlias = Mapping[str, str]
NOTHING: Headers = MappingProxyType({})


class _Connection:
    """A connection, on which a worker's requests follow each other."""

    def __init__(self, port: int) -> None:
        limit = aiohttp.ClientTimeout(total=REQUEST_LIMIT_S)
        connector = aiohttp.TCPConnector(limit=1)
        self._session = aiohttp.ClientSession(f"http://{HOST}:{port}", connector=connector, timeout=limit)

    async def ask(self, method: str, path: str, headers: Headers = NOTHING, body: Any = None) -> tuple[int, Any]:
        """Sends a request; returns the status and the decoded body."""
        sent = {"Accept-Encoding": "identity", **headers}
        async with self._session.request(method, path, headers=sent, json=body) as answer:
            text = await answer.read()
            return answer.status, json.loads(text) if text else None

    async def close(self) -> None:
        await self._session.close()


class _Customers:
    def __init__(self, system: System, requests: int, seed: int, outcome: Outcome) -> None:
        self._ports = system.ports
        self._left = requests
        self._seed = seed
        self._outcome = outcome
        signer = TokenSigner(key_pair(system.folder).private.read_bytes())
        self._tokens = {
            id_: {"Authorization": f"Bearer {signer.sign(Principal('customer', id_))}"} for id_ in range(1, WORKERS + 1)
        }
        self._acknowledged: dict[int, list[float]] = {}

    async def run(self) -> None:
        shops = [_Connection(self._ports["product-rest"]) for _ in range(WORKERS)]
        for number, shop in enumerate(shops):
            for id_ in _products_of(number):
                self._acknowledged[id_] = []
                await self._change(shop, id_)
        # By then, answers from before the first change of every product have left the cache.
        await asyncio.gather(*(self._worker(number, shop) for number, shop in enumerate(shops)))

    async def _worker(self, number: int, shop: _Connection) -> None:
        chance, cache = random.Random(f"{self._seed}/{number}"), _Connection(self._ports[EDGE_CACHE])
        everything = list(self._acknowledged)
        while self._left > 0:
            draw = chance.random()
            try:
                if draw < CHANGES:
                    await self._change(shop, chance.choice(list(_products_of(number))))
                    continue
                self._left -= 1
                self._outcome.requests += 1
                began = time.time()
                if draw < CHANGES + PRODUCTS:
                    await self._read(cache, f"/v1/products/{chance.choice(everything)}", lambda body: [body])
                elif draw < CHANGES + PRODUCTS + LISTS:
                    ids = ",".join(map(str, sorted(chance.sample(everything[:PRODUCTS_EACH], 3))))
                    await self._read(cache, f"/v1/products?ids={ids}", lambda body: body["products"])
                else:
                    await self._read_own(cache, chance.randint(1, WORKERS), chance.choice([None, *self._tokens]))
                self._outcome.max_request_s = max(self._outcome.max_request_s, time.time() - began)
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError, LookupError) as error:
                self._outcome.failed.append(f"{type(error).__name__}: {error}")
        await cache.close()
        await shop.close()

    async def _change(self, shop: _Connection, id_: int) -> None:
        price = {"price": {"amount_minor": 1 + len(self._acknowledged[id_]), "currency": "EUR"}}
        status, _ = await shop.ask("PATCH", f"/v1/products/{id_}", {"If-Match": "*"}, price)
        if status != 200:
            raise OSError(f"a change: status {status}")
        self._acknowledged[id_].append(time.time())
        self._outcome.changes += 1

    async def _read(self, cache: _Connection, path: str, products: Callable[[Any], list[Any]]) -> None:
        began = time.time()
        status, body = await cache.ask("GET", path)
        if status != 200:
            raise OSError(f"{path}: status {status}")
        for product in products(body):
            missed_s = first_missed(self._acknowledged[product["id"]], product["price"]["amount_minor"], began)
            if missed_s is not None:
                stale_s = began - missed_s
                self._outcome.missed += 1
                self._outcome.late += stale_s > TAKEN_OUT_S
                self._outcome.max_stale_s = max(self._outcome.max_stale_s, stale_s)

    async def _read_own(self, cache: _Connection, owner: int, reader: int | None) -> None:
        path = f"/v1/users/{owner}"
        status, body = await cache.ask("GET", path, NOTHING if reader is None else self._tokens[reader])
        expected = 401 if reader is None else 200 if reader == owner else 403
        if status >= 500:
            raise OSError(f"{path}: status {status}")
        if status != expected or (status == 200 and body["id"] != reader):
            self._outcome.foreign.append(f"{path} as {reader}: status {status} instead of {expected}")


def _products_of(number: int) -> range:
    return range(1 + number * PRODUCTS_EACH, 1 + (number + 1) * PRODUCTS_EACH)


def run_requests(system: System, requests: int, seed: int, progress: Callable[[int], None]) -> Outcome:
    """Lets customers read through the cache while prices change. Call it from the thread that started the system.

    Args:
        system: The running system, with an edge cache.
        requests: Number of the customers' requests.
        seed: Seed of the requests.
        progress: Called now and then with the number of requests so far.
    """
    outcome, began = Outcome(), time.monotonic()
    others = OtherWork(lambda: [pid for pids in system.pids().values() for pid in pids])
    crowd = Crowd(_Customers(system, requests, seed, outcome).run)
    while not crowd.wait(PROGRESS_S):
        system.check()
        progress(outcome.requests)
    outcome.other_cores, outcome.wall_s = others.cores, time.monotonic() - began
    outcome.hits = system.edge_cache_counts()["hits"]
    return outcome


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_settings("prove-edge-cache")
def prove(
    *,
    requests: Annotated[int, typer.Option(min=1)],
    rtt: str,
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Read through a shared cache while prices change. Exit code 3 if an answer was another's, or too old."""
    with reported():
        switches = parse_switches(edge_cache="varnish", http="1", rtt=rtt, trace="0")
        settings = {EDGE_CACHE: {BOUND_SETTING: str(BOUND_S)}}
        with System(load_topology("rest"), switches, load_ports(os.environ), "prove", extra=settings) as system:
            outcome = run_requests(
                system, requests, seed, lambda sent: print(f"\r{sent:,} of {requests:,}", end="", file=sys.stderr)
            )
        print(file=sys.stderr)
    typer.echo(json.dumps(outcome.as_dict(), indent=2) if as_json else in_words(outcome))
    end(outcome.verdict, strict=in_ci())


def in_words(outcome: Outcome) -> str:
    """Formats the outcome for people."""
    lines = [
        f"{outcome.requests:,} requests in {outcome.wall_s:.0f} s, while {outcome.changes:,} prices changed; the cache "
        f"answered {outcome.hits:,} of them.",
        f"{len(outcome.foreign)} answers belonged to another customer; {len(outcome.failed)} requests failed.",
        f"{outcome.missed:,} reads missed a change that was acknowledged before they began, {outcome.late} of them "
        f"{TAKEN_OUT_S:g} s later or more.",
        f"The worst was {outcome.max_stale_s * 1_000:.0f} ms old, allowed: {BOUND_S} s and the time of a request "
        f"({outcome.max_request_s * 1_000:.0f} ms).",
        *(f"FAILED: {what}" for what in (outcome.foreign + outcome.failed)[:10]),
        VERDICTS[outcome.verdict],
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    app()
