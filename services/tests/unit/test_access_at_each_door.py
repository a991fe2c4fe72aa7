"""Every door admits the same callers: by their identities, if callers have any, and by the capacity of the process."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from connect_client import read_details
from memory_shop import Data, MemoryShop
from served_shop import SCHEMES, served_gateways, served_service
from shop.errors import ErrorCode
from shop.platform.access import guesses
from shop.platform.access.guesses import MAX_FAILURES, WINDOW_S
from shop.platform.admission import PRIORITY, UNDER_WAY, Admission
from shop.platform.config import EDGE_MARK, split_address
from shop.platform.error_codes import ERROR_TABLE
from shop.platform.graphql.service import client_path
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.thrift.encoding import CALL, COMPACT, JSON, encode_message, open_message
from shop.platform.thrift.over_http import path_of
from shop.stubs import product_pb2 as pb
from shop.stubs import product_pb2_grpc
from shop.stubs.thrift import ProductService as Thrift
from shop.stubs.thrift import ttypes

GATEWAYS = ("graphql-gateway", "rest-gateway")
SERVICE = (*SCHEMES, "connect", "thrift_entrance")
CERTIFICATE = "x-forwarded-client-cert"
EDGE = "spiffe://cluster.local/ns/default/sa/edge"
REFUSED = "the call comes without an identity; callers need a certificate of the mesh"
TEA = base64.b64encode(b"Product:1").decode()
RESERVATION = str(uuid.UUID(int=1))
"""A reservation to release; it need not exist."""
Headers = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """How a request ends: the error's code, which is empty for no error, the error's message, and when to retry."""

    code: str = ""
    message: str = ""
    retry_s: int = 0


Door = Callable[[str, Headers], Awaitable[Answer]]
"""Sends a request with headers: to "read" a product, or to "release" a reservation, which only services may."""
Served = tuple[Mapping[str, Door], Mapping[str, str]]
"""The doors by name, and their addresses by name."""


def over_rest(address: str) -> Door:
    async def ask(what: str, headers: Headers) -> Answer:
        release = ("POST", f"/v1/reservations/{RESERVATION}:release")
        method, path = ("GET", "/v1/products/1") if what == "read" else release
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
            answer = await http.request(method, path, headers=headers)
        return Answer() if answer.is_success else problem_of(answer)

    return ask


def problem_of(answer: httpx.Response) -> Answer:
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == problem["status"] == ERROR_TABLE[ErrorCode(problem["code"])].http
    return Answer(problem["code"], problem["detail"], int(answer.headers.get("retry-after", 0)))


def over_graphql(address: str, product: str = f'"{TEA}"', path: str = "/graphql") -> Door:
    async def ask(what: str, headers: Headers) -> Answer:
        release = f'mutation {{ releaseReservation(reservationId: "{RESERVATION}") {{ id }} }}'
        query = f"{{ product(id: {product}) {{ id }} }}" if what == "read" else release
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
            answer = await http.post(path, json={"query": query}, headers=headers)
        (error,) = answer.json().get("errors", [None])
        if error is None:
            return Answer()
        code = error["extensions"]["code"]
        assert answer.status_code == ERROR_TABLE[ErrorCode(code)].http
        retry_s = error["extensions"].get("retryAfter", 0)
        assert int(answer.headers.get("retry-after", 0)) == retry_s
        return Answer(code, error["message"], retry_s)

    return ask


def over_grpc(address: str) -> Door:
    async def ask(what: str, headers: Headers) -> Answer:
        async with grpc.aio.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub, metadata = product_pb2_grpc.ProductServiceStub(channel), tuple(headers)
            try:
                if what == "read":
                    await stub.GetProduct(pb.GetProductRequest(id=1), metadata=metadata)
                else:
                    request = pb.ReleaseReservationRequest(reservation_id=RESERVATION)
                    await stub.ReleaseReservation(request, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                info, retry = ErrorInfo(), RetryInfo()
                for detail in rpc_status.from_call(error).details:  # type: ignore[arg-type, union-attr]
                    _ = detail.Unpack(info) or detail.Unpack(retry)
                return Answer(info.reason, error.details() or "", retry.retry_delay.seconds)
        return Answer()

    return ask


def over_connect(address: str) -> Door:
    async def ask(what: str, headers: Headers) -> Answer:
        path = "/shop.product.v1.ProductService"
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
            if what == "release":
                request = {"reservation_id": RESERVATION}
                answer = await http.post(f"{path}/ReleaseReservation", json=request, headers=headers)
            else:
                query = {"connect": "v1", "encoding": "json", "message": json.dumps({"id": 1})}
                answer = await http.get(f"{path}/GetProduct", params=query, headers=headers)
        assert answer.headers["cache-control"] == "no-store"
        if answer.is_success:
            return Answer()
        error = answer.json()
        info, retry = read_details(error)
        assert error["code"] == ERROR_TABLE[ErrorCode(info.reason)].grpc.lower()
        return Answer(info.reason, error["message"], retry.retry_delay.seconds)

    return ask


def over_thrift(address: str, *, framed: bool) -> Door:
    async def ask(what: str, headers: Headers) -> Answer:
        method, request = "GetProduct", ttypes.GetProductRequest(id=1)
        if what == "release":
            method, request = "ReleaseReservation", ttypes.ReleaseReservationRequest(reservation_id=RESERVATION)
        arguments = getattr(Thrift, f"{method}_args")(dict(headers) if framed else {}, request)
        message = encode_message(COMPACT if framed else JSON, method, CALL, 1, arguments)
        if framed:
            reader, writer = await asyncio.open_connection(*split_address(address))
            writer.write(len(message).to_bytes(4) + message)
            body = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            writer.close()
        else:
            async with httpx.AsyncClient(trust_env=False) as http:
                answer = await http.post(f"http://{address}{path_of('product')}", content=message, headers=headers)
            if not answer.is_success:
                return problem_of(answer)
            body = answer.content
        result = getattr(Thrift, f"{method}_result")()
        result.read(open_message(COMPACT if framed else JSON, body)[-1])
        error = result.error
        return Answer() if error is None else Answer(error.code, error.message, error.retry_after_s or 0)

    return ask


@asynccontextmanager
async def serving(keys: Any, runtime: Runtime = BARE, **settings: Any) -> AsyncIterator[Served]:
    """The doors of a shop in memory: both gateways, and the product service over each protocol."""
    shop = MemoryShop(Data.demo())
    async with AsyncExitStack() as stack:
        gateways = served_gateways(shop.clients, keys.public_file, runtime=runtime, **settings)
        of_service = served_service(
            "product", shop.use_cases("product"), keys.public_file, SERVICE, runtime=runtime, **settings
        )
        at = await stack.enter_async_context(gateways) | await stack.enter_async_context(of_service)
        doors = {
            "connect": over_connect(at["connect"]),
            "graphql": over_graphql(at["graphql"], "1"),
            "graphql_clients": over_graphql(at["graphql"], "1", client_path("product")),
            "graphql-gateway": over_graphql(at["graphql-gateway"]),
            "grpc": over_grpc(at["grpc"]),
            "rest": over_rest(at["rest"]),
            "rest-gateway": over_rest(at["rest-gateway"]),
            "thrift": over_thrift(at["thrift"], framed=True),
            "thrift_entrance": over_thrift(at["thrift_entrance"], framed=True),
            "thrift_json": over_thrift(at["thrift_json"], framed=False),
        }
        yield doors, at


def certificate(component: str) -> str:
    by = "By=spiffe://cluster.local/ns/default/sa/product"
    return f'{by};Hash={"0f" * 32};Subject="";URI=spiffe://cluster.local/ns/default/sa/{component}'


FROM_ORDER, FROM_EDGE = (CERTIFICATE, certificate("order")), (CERTIFICATE, certificate("edge"))


@pytest.fixture(scope="module")
async def known(keys: Any) -> AsyncIterator[Served]:
    async with serving(keys, edge_identity=EDGE) as served:
        yield served


class TestWhereCallersHaveIdentities:
    @pytest.fixture(params=["connect", "graphql", "grpc", "rest", "thrift_json"])
    def name(self, request: pytest.FixtureRequest) -> str:
        """A door of a service; framed Thrift has no sidecars, and no identities."""
        return str(request.param)

    @pytest.fixture
    def of_service(self, name: str, known: Served) -> Door:
        return known[0][name]

    async def test_another_component_is_inside_with_and_without_the_mark_of_the_edge(self, of_service: Door) -> None:
        mark = (EDGE_MARK, "1")
        assert (await of_service("release", [FROM_ORDER])).code in ("", "NOT_FOUND")
        assert (await of_service("release", [mark, FROM_ORDER])).code in ("", "NOT_FOUND")
        assert (await of_service("read", [mark])).code == "UNAUTHENTICATED"

    async def test_the_edge_is_outside(self, of_service: Door, name: str) -> None:
        assert (await of_service("release", [FROM_EDGE])).code == "PERMISSION_DENIED"
        # This GraphQL endpoint of a service is only for callers from inside.
        assert (await of_service("read", [FROM_EDGE])).code == ("PERMISSION_DENIED" if name == "graphql" else "")

    @pytest.mark.parametrize(
        "header",
        [
            *(None, "1", f"{certificate('order')},Hash=00"),
            # A caller of another trust domain is a stranger, even if the sidecar admits it.
            *(f"URI=spiffe://{domain}/ns/default/sa/order" for domain in ("other.local", "cluster.local.evil")),
        ],
    )
    async def test_a_call_without_one_is_refused(self, of_service: Door, header: str | None) -> None:
        headers = [] if header is None else [(CERTIFICATE, header)]
        assert await of_service("read", headers) == ("UNAUTHENTICATED", REFUSED, 0)

    async def test_the_last_of_several_counts(self, of_service: Door) -> None:
        first, last = certificate("order"), certificate("edge")
        for headers in ([(CERTIFICATE, f"{first},{last}")], [(CERTIFICATE, first), (CERTIFICATE, last)]):
            assert (await of_service("release", headers)).code == "PERMISSION_DENIED"
        for headers in ([(CERTIFICATE, f"{last},{first}")], [(CERTIFICATE, last), (CERTIFICATE, first)]):
            assert (await of_service("release", headers)).code in ("", "NOT_FOUND")

    @pytest.mark.parametrize("gateway", GATEWAYS)
    async def test_a_gateway_refuses_a_request_without_one(self, known: Served, gateway: str) -> None:
        ask = known[0][gateway]
        assert await ask("read", [(EDGE_MARK, "1")]) == ("UNAUTHENTICATED", REFUSED, 0)
        assert await ask("read", [(CERTIFICATE, f"URI={EDGE}")]) == Answer()

    async def test_health_and_reflection_need_none(self, known: Served) -> None:
        at = known[1]
        async with grpc.aio.insecure_channel(at["grpc"], options=[("grpc.enable_http_proxy", 0)]) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=5)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
            answers = [answer async for answer in reflection.ServerReflectionInfo(iter([asked]), timeout=5)]
            assert answers[0].list_services_response.service
        async with httpx.AsyncClient(trust_env=False) as http:
            for name in (*GATEWAYS, "connect", "rest", "graphql", "thrift_json"):
                assert (await http.get(f"http://{at[name]}/healthz")).status_code == 200, name


@pytest.fixture(scope="module")
async def overloaded(keys: Any) -> AsyncIterator[Served]:
    limit = Admission()
    limit.new.value = 0.0
    async with serving(keys, Runtime(admission=limit)) as served:
        yield served


@pytest.mark.parametrize("name", [*GATEWAYS, "connect", "graphql_clients", "grpc", "rest", "thrift_json"])
async def test_an_overloaded_process_refuses_new_requests(overloaded: Served, name: str) -> None:
    ask, outside = overloaded[0][name], (EDGE_MARK, "1")
    refused = await ask("read", [outside])
    assert (refused.code, refused.retry_s) == ("UNAVAILABLE", 1)
    for headers in ([], [outside, (PRIORITY, UNDER_WAY)]):
        assert await ask("read", headers) == Answer()


async def test_framed_thrift_is_refused_where_clients_come_in(overloaded: Served) -> None:
    """No header marks the calls as coming from outside, as no edge passes them on."""
    assert (await overloaded[0]["thrift_entrance"]("read", [])).code == "UNAVAILABLE"
    assert await overloaded[0]["thrift_entrance"]("read", [(PRIORITY, UNDER_WAY)]) == Answer()
    assert await overloaded[0]["thrift"]("read", []) == Answer()


@pytest.mark.parametrize(("name", "address"), [(GATEWAYS[0], "192.0.2.1"), (GATEWAYS[1], "192.0.2.3")])
async def test_logins_that_fail_from_one_address_leave_room_for_others(keys: Any, name: str, address: str) -> None:
    shop = MemoryShop(Data.demo())
    query = "mutation ($input: LoginInput!) { login(input: $input) { token } }"

    async with served_gateways(shop.clients, keys.public_file) as at, httpx.AsyncClient(trust_env=False) as http:

        async def refusal(comes_from: str | None) -> tuple[str, int]:
            headers = {} if comes_from is None else {EDGE_MARK: comes_from}
            wrong = {"email": f"{uuid.uuid4().hex}@example.com", "password": "battery staple"}
            if name == "rest-gateway":
                answer = await http.post(f"http://{at[name]}/v1/sessions", json=wrong, headers=headers)
                return answer.json()["code"], int(answer.headers.get("retry-after", 0))
            body = {"query": query, "variables": {"input": wrong}}
            (error,) = (await http.post(f"http://{at[name]}/graphql", json=body, headers=headers)).json()["errors"]
            return error["extensions"]["code"], error["extensions"].get("retryAfter", 0)

        for _ in range(MAX_FAILURES):
            assert await refusal(address) == ("UNAUTHENTICATED", 0)
        tried = len(shop.record.calls)
        code, retry_s = await refusal(address)
        assert (code, 1 <= retry_s <= WINDOW_S, len(shop.record.calls)) == ("TOO_MANY_REQUESTS", True, tried)
        assert [await refusal(f"{address}9"), await refusal(None)] == [("UNAUTHENTICATED", 0)] * 2


@pytest.mark.parametrize(("name", "address"), [(GATEWAYS[0], "192.0.2.1"), (GATEWAYS[1], "192.0.2.3")])
async def test_sign_ups_from_one_address_leave_room_for_others(
    keys: Any, name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses, "MAX_SIGN_UPS", 1)
    shop, home = MemoryShop(Data.demo()), {"recipient": "Ada", "street": "Street 1", "city": "Paris"}
    query = "mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }"

    async with served_gateways(shop.clients, keys.public_file) as at, httpx.AsyncClient(trust_env=False) as http:

        async def sign_up(comes_from: str | None) -> str:
            headers = {} if comes_from is None else {EDGE_MARK: comes_from}
            new = {"email": f"{uuid.uuid4().hex}@example.com", "name": "Ada", "password": "battery staple"}
            if name == "rest-gateway":
                body = {**new, "address": {**home, "postal_code": "12345", "country_code": "DE"}}
                answer = await http.post(f"http://{at[name]}/v1/users", json=body, headers=headers)
                return str(answer.json().get("code", ""))
            given = {**new, "address": {**home, "postalCode": "12345", "countryCode": "DE"}}
            body = {"query": query, "variables": {"input": given}}
            answer = await http.post(f"http://{at[name]}/graphql", json=body, headers=headers)
            return "".join(error["extensions"]["code"] for error in answer.json().get("errors", ()))

        codes = [await sign_up(comes_from) for comes_from in (address, address, f"{address}9", None)]
    assert codes == ["", "TOO_MANY_REQUESTS", "", ""]
    assert shop.record.methods == ["create_user"] * 3
