"""What a service admits where callers have identities, over each protocol: the mark of the edge says nothing there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
import httpx
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from shop.money import Money
from shop.platform.config import ServiceConfig
from shop.platform.serve import servers
from shop.product import bootstrap as product_bootstrap
from shop.product.memory import MemoryProductStore
from shop.product.service import ProductService
from shop.stubs import product_pb2, product_pb2_grpc
from shop.values.product import Product, Reservation, ReservationState

pytestmark = pytest.mark.integration

HEADER = "x-forwarded-client-cert"
TEA = Product(1, "Tea", "Green.", "tea", Money(300, "EUR"), 5)
RESERVATION = "8f14e45f-ceea-467f-a8f3-6b0e3b1c1d1e"
REFUSED = "the call comes without an identity; callers need a certificate of the mesh"


class Teas(ProductService):
    """A product service without rules."""

    async def get_product(self, product_id: int) -> Product:
        return TEA

    async def release_reservation(self, reservation_id: str) -> Reservation:
        return Reservation(reservation_id, ReservationState.RELEASED, ())


def certificate(component: str) -> str:
    """What a sidecar says of a component's certificate."""
    by = "By=spiffe://cluster.local/ns/default/sa/product"
    return f'{by};Hash={"0f" * 32};Subject="";URI=spiffe://cluster.local/ns/default/sa/{component}'


@pytest.fixture(scope="module")
async def addresses() -> AsyncIterator[dict[str, str]]:
    config = ServiceConfig(
        component="product",
        listen_grpc="127.0.0.1:0",
        listen_rest="127.0.0.1:0",
        listen_graphql="127.0.0.1:0",
        edge_identity="spiffe://cluster.local/ns/default/sa/edge",
    )
    async with servers(config, product_bootstrap.protocols(Teas(MemoryProductStore()))) as served:
        yield served


Call = Callable[[str, list[tuple[str, str]]], Awaitable[tuple[str, str]]]
"""Makes a call, "read" or "release", with headers; returns code and message of its error, or "OK" and no message."""


@pytest.fixture(params=["grpc", "graphql", "rest"])
def call(request: pytest.FixtureRequest, addresses: dict[str, str]) -> Call:
    """Makes calls over a protocol."""
    kind = {"grpc": over_grpc, "graphql": over_graphql, "rest": over_rest}[request.param]
    return lambda what, headers: kind(addresses[request.param], what, headers)


async def over_grpc(address: str, what: str, headers: list[tuple[str, str]]) -> tuple[str, str]:
    async with grpc.aio.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub = product_pb2_grpc.ProductServiceStub(channel)
        try:
            if what == "read":
                await stub.GetProduct(product_pb2.GetProductRequest(id=1), metadata=headers)
            else:
                request = product_pb2.ReleaseReservationRequest(reservation_id=RESERVATION)
                await stub.ReleaseReservation(request, metadata=headers)
        except grpc.aio.AioRpcError as error:
            status = rpc_status.from_call(error)  # type: ignore[arg-type]
            info = error_details_pb2.ErrorInfo()
            assert status is not None
            assert any(detail.Unpack(info) for detail in status.details)
            return info.reason, error.details() or ""
    return "OK", ""


async def over_rest(address: str, what: str, headers: list[tuple[str, str]]) -> tuple[str, str]:
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
        if what == "read":
            answer = await client.get("/v1/products/1", headers=headers)
        else:
            answer = await client.post(f"/v1/reservations/{RESERVATION}:release", headers=headers)
    if answer.is_success:
        return "OK", ""
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (
        answer.status_code == problem["status"] == {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403}[problem["code"]]
    )
    return problem["code"], problem["detail"]


async def over_graphql(address: str, what: str, headers: list[tuple[str, str]]) -> tuple[str, str]:
    query = "{ product(id: 1) { id } }"
    if what == "release":
        query = f'mutation {{ releaseReservation(reservationId: "{RESERVATION}") {{ id }} }}'
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
        sent = [("content-type", "application/json"), *headers]
        answer = await client.post("/graphql", content=json.dumps({"query": query}), headers=sent)
    if "errors" not in answer.json():
        return "OK", ""
    (error,) = answer.json()["errors"]
    code = error["extensions"]["code"]
    assert answer.status_code == {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403}[code]
    return code, error["message"]


@pytest.mark.parametrize("what", ["read", "release"])
async def test_another_component_is_inside(call: Call, what: str) -> None:
    assert await call(what, [(HEADER, certificate("order"))]) == ("OK", "")


async def test_mark_of_the_edge_says_nothing(call: Call) -> None:
    mark = ("x-hopwise-edge", "1")
    assert await call("release", [mark, (HEADER, certificate("order"))]) == ("OK", "")
    assert (await call("read", [mark]))[0] == "UNAUTHENTICATED"


async def test_edge_is_outside(call: Call, request: pytest.FixtureRequest) -> None:
    assert (await call("release", [(HEADER, certificate("edge"))]))[0] == "PERMISSION_DENIED"
    # GraphQL of a service is for its callers inside only.
    code = "PERMISSION_DENIED" if "graphql" in request.node.name else "OK"
    assert (await call("read", [(HEADER, certificate("edge"))]))[0] == code


@pytest.mark.parametrize("what", ["read", "release"])
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "1",
        "By=spiffe://cluster.local/ns/default/sa/order;Hash=00",
        'URI="spiffe://cluster.local/ns/default/sa/order',
        "URI=spiffe://cluster.local/ns/default/sa/order;URI=spiffe://cluster.local/ns/default/sa/edge",
        "URI=spiffe://other.local/ns/default/sa/order",
        f"{certificate('order')},Hash=00",
    ],
)
async def test_call_without_an_identity_is_refused(call: Call, what: str, header: str | None) -> None:
    headers = [] if header is None else [(HEADER, header)]
    assert await call(what, headers) == ("UNAUTHENTICATED", REFUSED)


async def test_last_of_several_elements_and_headers_counts(call: Call) -> None:
    first, last = certificate("order"), certificate("edge")
    for headers in ([(HEADER, f"{first},{last}")], [(HEADER, first), (HEADER, last)]):
        assert (await call("release", headers))[0] == "PERMISSION_DENIED"
    for headers in ([(HEADER, f"{last},{first}")], [(HEADER, last), (HEADER, first)]):
        assert (await call("release", headers))[0] == "OK"


async def test_health_and_reflection_ask_for_no_identity(addresses: dict[str, str]) -> None:
    async with grpc.aio.insecure_channel(addresses["grpc"], options=[("grpc.enable_http_proxy", 0)]) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=5)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = [answer async for answer in reflection.ServerReflectionInfo(iter([asked]), timeout=5)]
        assert answers[0].list_services_response.service
    for protocol in ("rest", "graphql"):
        async with httpx.AsyncClient(base_url=f"http://{addresses[protocol]}", trust_env=False) as client:
            assert (await client.get("/healthz")).status_code == 200
