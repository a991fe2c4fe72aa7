"""Hostile clients, legitimate clients that cause the same load, and a probe that counts its served requests.

`attack`, `use` and `probe` each run in a separate process; their times are from the system's monotonic clock.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
from yarl import URL

from mesh.resting import cpu_seconds

CLIENTS, EAGER, PROBES = 16, 8, 16
"""Numbers of hostile or legitimate clients, of eager clients (which never pause), and of the probe's customers."""
ADDRESS = "127.0.{}.{}"
"""Pattern of the clients' addresses: each client sends from its own."""
ANSWER_LIMIT_S = 6.0
"""Seconds that a client waits for an answer; the edge gives up after 5 s."""
PAUSE_S, HEAD_PAUSE_S = 0.01, 0.4
MAX_RETRY_AFTER_S = 5.0
PRODUCTS = range(8_001, 9_901)
"""Products that the seed reserves for purchases."""
MAX_LINES = 100
"""Number of lines in the largest order that the shop accepts."""
PING = b"\x89\x80\0\0\0\0"
"""An empty ping of a WebSocket client: final, masked, no payload."""
PING_BYTES_PER_S = 1_000_000
PING_SLICE_S = 0.05
IDLE_SOCKETS = 128
"""Number of sockets that each hostile client tries to keep open."""
STREAM = "/graphql/stream"
LIMITED, UNLIMITED = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S), aiohttp.ClientTimeout()
BROWSE = """query browse($category: String!) { products(first: 20, category: $category) {
  edges { node { id title stock price { amountMinor currency } reviews(first: 3) { id rating title } } } } }"""
HISTORY = "{ me { orders(first: 10) { edges { node { id status lines { quantity product { id title } } } } } } }"
UPDATES = "subscription { notifications { position } }"
PASSWORD = "a-password-of-some-length"  # noqa: S105 - for customers who exist for a few seconds
LOGIN = "mutation login($input: LoginInput!) { login(input: $input) { token } }"
RECURSIVE = "query($id: ID!) { order(id: $id) { lines { order { lines { order { lines { order { id } } } } } } } }"
WIDE = "query($id: ID!) {" + " ".join(f"o{n}: order(id: $id) {{ lines {{ quantity }} }}" for n in range(60)) + "}"


@dataclass(frozen=True)
class Target:
    """A shop as its clients see it.

    Attributes:
        tokens: A customer's token for each client.
        users: The clients' customers, then the probe's.
        email: E-mail address of a customer who can log in.
        orders: Global identifier of an order of `MAX_LINES` lines for each client; empty before the orders exist.
    """

    url: str
    tokens: Sequence[str]
    users: Sequence[int]
    partner: str
    categories: Sequence[str]
    email: str = ""
    orders: Sequence[str] = ()


@dataclass
class Window:
    """The probe's results: requests `served` in full, with latencies from their intended start; `refused` by result."""

    asked: int = 0
    served: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


class Client:
    """A client with its own connections."""

    def __init__(self, session: aiohttp.ClientSession, target: Target, number: int) -> None:
        self.session, self.target, self.number = session, target, number
        self.user = target.users[number % len(target.users)]
        self.token = target.tokens[number % len(target.tokens)]
        self.outcomes: Counter[str] = Counter()
        self.chance = random.Random(number)

    async def request(self, method: str, path: str, token: str | None = None, **options: Any) -> tuple[str, Any]:
        """Sends a request and reads the whole answer; returns "ok" or the failure, and the answer's JSON, if any."""
        headers = {"authorization": f"Bearer {token or self.token}", **options.pop("headers", {})}
        try:
            async with self.session.request(
                method, self.target.url + path, headers=headers, timeout=LIMITED, **options
            ) as answer:
                body = await answer.json(content_type=None) if "json" in answer.content_type else await answer.read()
                errors = (body.get("errors") if isinstance(body, dict) else None) or [{}]
                in_seconds = errors[0].get("extensions", {}).get("retryAfter", 0)
                self.retry_after_s = float(answer.headers.get("retry-after", in_seconds))
                return outcome_of(answer.status, body), body
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            self.retry_after_s = 0.0
            return type(error).__name__, None

    async def graphql(self, query: str, variables: Mapping[str, Any] | None = None) -> tuple[str, Any]:
        return await self.request("POST", "/graphql", json={"query": query, "variables": dict(variables or {})})

    async def count(self, request: Awaitable[tuple[str, Any]]) -> None:
        self.outcomes[(await request)[0]] += 1


def outcome_of(status: int, body: Any) -> str:
    """Classifies an answer: "ok", its status, or the code of its first GraphQL error."""
    if not 200 <= status < 300:
        return str(status)
    errors = body.get("errors") if isinstance(body, dict) else None
    if errors is None or errors == []:
        return "ok"
    try:
        return str(errors[0]["extensions"]["code"])
    except (LookupError, TypeError):
        return "error"


def _patient(
    ask: Callable[[Client], Awaitable[tuple[str, Any]]], pause_s: float = 0.0
) -> Callable[[Client, float], Awaitable[None]]:
    """Makes an attack that sends one request at a time, and then waits for a pause plus the time in `Retry-After`."""

    async def act(client: Client, until: float) -> None:
        while time.monotonic() < until:
            await client.count(ask(client))
            await asyncio.sleep(min(client.retry_after_s, MAX_RETRY_AFTER_S) + pause_s)

    return act


def _document(query: str) -> Callable[[Client, float], Awaitable[None]]:
    return _patient(lambda client: client.graphql(query, {"id": client.target.orders[client.number]}), PAUSE_S)


async def _head(client: Client, until: float) -> None:
    path, headers = f"/v1/users/{client.user}/notifications/events", {"accept": "text/event-stream"}
    async with asyncio.TaskGroup() as tasks:
        while time.monotonic() < until:
            tasks.create_task(client.count(client.request("HEAD", path, headers=headers)))
            await asyncio.sleep(HEAD_PAUSE_S)


async def _pings(client: Client, until: float) -> None:
    flood = PING * int(PING_BYTES_PER_S * PING_SLICE_S / len(PING))
    while time.monotonic() < until:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await _socket(client)
            drain = asyncio.create_task(_discard(reader))
            try:
                while time.monotonic() < until and not drain.done():
                    writer.write(flood)
                    await asyncio.wait_for(writer.drain(), ANSWER_LIMIT_S)
                    client.outcomes["pings"] += len(flood) // len(PING)
                    await asyncio.sleep(PING_SLICE_S)
            finally:
                drain.cancel()
                writer.close()
        await asyncio.sleep(PAUSE_S)


async def _idle(client: Client, until: float) -> None:
    held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        while time.monotonic() < until:
            held = [pair for pair in held if not pair[0].at_eof()]
            client.outcomes["held"] = max(client.outcomes["held"], len(held))
            if len(held) < IDLE_SOCKETS:
                with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                    held.append(await _socket(client))
                    client.outcomes["opened"] += 1
            await asyncio.sleep(PAUSE_S)
    finally:
        for _, writer in held:
            writer.close()


async def _socket(client: Client) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Opens a WebSocket without a token. Raises ConnectionRefusedError if the shop refuses it."""
    url = URL(client.target.url)
    reader, writer = await asyncio.wait_for(asyncio.open_connection(url.host, url.port), ANSWER_LIMIT_S)
    try:
        writer.write(
            f"GET {STREAM} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n".encode()
        )
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWER_LIMIT_S)
        if b" 101 " not in head.split(b"\r\n")[0]:
            client.outcomes[head.split(b" ")[1].decode()] += 1
            raise ConnectionRefusedError
    except BaseException:
        writer.close()
        raise
    return reader, writer


async def _discard(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(1 << 16):
            pass


def _wrong_login(client: Client) -> Awaitable[tuple[str, Any]]:
    # A different email address each time, because ten failures lock an address.
    credentials = {"email": f"nobody-{uuid.uuid4()}@example.com", "password": "wrong-password"}
    if client.number % 2:
        return client.graphql(LOGIN, {"input": credentials})
    return client.request("POST", "/v1/sessions", json=credentials)


async def _sign_up(client: Client, email: str) -> tuple[str, Any]:
    address = {
        "recipient": "Robin Example",
        "street": "Main Street 1",
        "city": "Springfield",
        "postal_code": "12345",
        "country_code": "DE",
    }
    user = {"email": email, "name": "Robin Example", "address": address, "password": PASSWORD}
    return await client.request("POST", "/v1/users", json=user)


def _any_sign_up(client: Client) -> Awaitable[tuple[str, Any]]:
    return _sign_up(client, f"{uuid.uuid4()}@example.com")


async def _eager(client: Client, until: float) -> None:
    while client.number < EAGER and time.monotonic() < until:
        await client.count(client.graphql(HISTORY))
        await client.count(_browse(client))


async def _eager_customer(client: Client, until: float) -> None:
    client.token = client.target.tokens[0]
    await _eager(client, until)


def _bulk(client: Client) -> Awaitable[tuple[str, Any]]:
    after = client.chance.randrange(10_000)
    return client.request("GET", f"/v1/order-lines?page_size=10000&after_line_id={after}", client.target.partner)


async def _streams(client: Client, until: float) -> None:
    doors = (_rest_stream, _graphql_stream, _socket_stream)

    async def watch(door: Callable[[Client], Awaitable[None]]) -> None:
        while (left_s := until - time.monotonic()) > 0:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(left_s):
                    await door(client)
            await asyncio.sleep(PAUSE_S)

    await asyncio.gather(*(watch(doors[number % len(doors)]) for number in range(IDLE_SOCKETS)))


async def _rest_stream(client: Client) -> None:
    path = f"/v1/users/{client.user}/notifications/events"
    headers = {"authorization": f"Bearer {client.token}", "accept": "text/event-stream"}
    async with client.session.get(client.target.url + path, headers=headers, timeout=UNLIMITED) as answer:
        client.outcomes[f"REST {answer.status}"] += 1
        await answer.read()


async def _graphql_stream(client: Client) -> None:
    headers = {"authorization": f"Bearer {client.token}", "accept": "text/event-stream"}
    async with client.session.post(
        client.target.url + STREAM, json={"query": UPDATES}, headers=headers, timeout=UNLIMITED
    ) as answer:
        first = (await answer.content.readline(), await answer.content.readline())[1]
        client.outcomes["SSE refused" if b'"errors"' in first else f"SSE {answer.status}"] += 1
        await answer.read()


async def _socket_stream(client: Client) -> None:
    async with client.session.ws_connect(client.target.url + STREAM, protocols=("graphql-transport-ws",)) as over:
        await over.send_json({"type": "connection_init", "payload": {"authorization": f"Bearer {client.token}"}})
        await over.receive()
        await over.send_json({"type": "subscribe", "id": "1", "payload": {"query": UPDATES}})
        async for message in over:
            client.outcomes["socket refused" if '"errors"' in message.data else "socket 200"] += 1
        client.outcomes[f"socket {over.close_code}"] += 1


@dataclass(frozen=True)
class Attack:
    """An attack by clients.

    Attributes:
        act: What each client does until a given moment.
        meets: Results of its requests; one of these shows that the attack met the shop.
        on_logins: Whether the probe sends logins, not reads.
    """

    about: str
    act: Callable[[Client, float], Awaitable[None]]
    meets: Sequence[str] = ("ok",)
    on_logins: bool = False


LOGINS = _patient(_wrong_login)
REFUSED, TOO_COSTLY = ("401", "UNAUTHENTICATED"), ("RESOURCE_EXHAUSTED",)
ATTACKS: Mapping[str, Attack] = {
    "recursive": Attack(
        "GraphQL documents that ask for an order's lines, their order, its lines and so on",
        _document(RECURSIVE),
        TOO_COSTLY,
    ),
    "wide": Attack("GraphQL documents that ask for 60 orders of 100 lines", _document(WIDE), TOO_COSTLY),
    "head": Attack("HEAD on the route of a stream", _head),
    "pings": Attack("WebSockets without a token, each with 1 MB/s of empty pings", _pings, ["pings"]),
    "idle": Attack(f"{IDLE_SOCKETS} idle WebSockets without a token for each client", _idle, ["opened"]),
    "logins": Attack("logins with wrong passwords, over REST and GraphQL; Retry-After is respected", LOGINS, REFUSED),
    "guesses": Attack("the same; the probe logs in", LOGINS, REFUSED, on_logins=True),
    "sign-ups": Attack("new accounts; Retry-After is respected", _patient(_any_sign_up)),
    "bulk": Attack("pages of 10,000 order lines with a partner's token; Retry-After is respected", _patient(_bulk)),
    "streams": Attack(
        f"{IDLE_SOCKETS} streams for each client: REST, GraphQL over SSE and over WebSockets",
        _streams,
        ["REST 200", "SSE 200", "socket 200"],
    ),
    "eager": Attack(f"GraphQL reads by {EAGER} customers, each without a pause", _eager),
    "eager-customer": Attack(f"GraphQL reads by {EAGER} clients of one customer, without a pause", _eager_customer),
}
"""The attacks, by name."""


def attack(name: str, target: Target, until: float) -> Counter[str]:
    """Lets `CLIENTS` hostile clients attack concurrently; counts the results of their requests."""
    return asyncio.run(_crowd(target, lambda client: ATTACKS[name].act(client, until)))


def use(pids: Sequence[int], cores: float, target: Target, until: float) -> Counter[str]:
    """Lets `CLIENTS` legitimate clients browse at once, while the shop uses up to `cores`; counts as `attack` does."""
    began, used = time.monotonic(), cpu_seconds(pids)

    async def browse(client: Client) -> None:
        while (now := time.monotonic()) < until:
            if cpu_seconds(pids) - used > cores * (now - began):
                await asyncio.sleep(PAUSE_S)
            else:
                await client.count(client.graphql(HISTORY))
                await client.count(_browse(client))

    return asyncio.run(_crowd(target, browse))


async def _crowd(target: Target, act: Callable[[Client], Awaitable[None]]) -> Counter[str]:
    outcomes: Counter[str] = Counter()

    async def run(number: int) -> None:
        connector = aiohttp.TCPConnector(limit=0, local_addr=(ADDRESS.format(1, number + 1), 0))
        async with aiohttp.ClientSession(connector=connector) as session:
            client = Client(session, target, number)
            await act(client)
            outcomes.update(client.outcomes)

    await asyncio.gather(*(run(number) for number in range(CLIENTS)))
    return outcomes


async def _browse(client: Client) -> tuple[str, Any]:
    return await client.graphql(BROWSE, {"category": client.chance.choice(client.target.categories)})


def probe(target: Target, begins: float, count: int, rate: float, on_logins: bool) -> Window:
    """Sends other customers' requests at a constant rate, over REST and GraphQL in turn, and counts which are served.

    The target's last customers are the probe's. The first request is due at `begins`; with `on_logins`, all are logins.
    """
    return asyncio.run(_probe(target, begins, count, rate, on_logins))


async def _probe(target: Target, begins: float, count: int, rate: float, on_logins: bool) -> Window:
    window = Window()
    asked = (_log_in, _log_in_by_graphql) if on_logins else (_read_product, _browse, _read_history)
    connector = aiohttp.TCPConnector(limit=0, local_addr=(ADDRESS.format(2, 1), 0))
    async with aiohttp.ClientSession(connector=connector) as session:
        clients = [Client(session, target, CLIENTS + number) for number in range(PROBES)]

        async def ask(number: int, due: float) -> None:
            outcome, _ = await asked[number % len(asked)](clients[number % PROBES])
            if outcome == "ok":
                window.served += 1
                window.latencies_ms.append(1e3 * (time.monotonic() - due))
            else:
                window.refused[outcome] += 1

        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                due = begins + number / rate
                await asyncio.sleep(due - time.monotonic())
                window.asked += 1
                tasks.create_task(ask(number, due))
    return window


async def _read_product(client: Client) -> tuple[str, Any]:
    return await client.request("GET", f"/v1/products/{client.chance.choice(PRODUCTS)}")


async def _read_history(client: Client) -> tuple[str, Any]:
    return await client.graphql(HISTORY)


async def _log_in(client: Client) -> tuple[str, Any]:
    return await client.request("POST", "/v1/sessions", json={"email": client.target.email, "password": PASSWORD})


async def _log_in_by_graphql(client: Client) -> tuple[str, Any]:
    return await client.graphql(LOGIN, {"input": {"email": client.target.email, "password": PASSWORD}})


def prepare(target: Target) -> Target:
    """Gives a shop a customer who can log in, and an order for each client. Raises RuntimeError if the shop refused."""
    return asyncio.run(_prepare(target))


async def _prepare(target: Target) -> Target:
    email = f"{uuid.uuid4()}@example.com"
    orders = []
    async with aiohttp.ClientSession() as session:
        await _answer_of(_sign_up(Client(session, target, 0), email))
        for number in range(CLIENTS):
            client = Client(session, target, number)
            products = client.chance.sample(PRODUCTS, MAX_LINES)
            body = {
                "user_id": client.user,
                "lines": [{"product_id": product, "quantity": 1} for product in sorted(products)],
                "payment_token": "tok_ok",
            }
            key = {"idempotency-key": str(uuid.uuid4())}
            order = await _answer_of(client.request("POST", "/v1/orders", json=body, headers=key))
            orders.append(b64encode(f"Order:{order['id']}".encode()).decode())
    return replace(target, email=email, orders=orders)


async def _answer_of(request: Awaitable[tuple[str, Any]]) -> Any:
    outcome, answer = await request
    if outcome != "ok":
        raise RuntimeError(f"the shop refused an account or an order of {MAX_LINES} lines: {outcome} {answer}")
    return answer


def warm_up(seconds: float) -> None:
    """Occupies a process of a pool for a while; to run this, the process must first import its modules."""
    time.sleep(seconds)
