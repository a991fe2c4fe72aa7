"""Errors for the transcoder's clients: each error has a JSON body."""

from __future__ import annotations

from typing import Any

import pytest
from grpc import StatusCode

from mesh.edge.replies import REPLIES
from shop.errors import ErrorCode
from shop.platform.error_codes import ERROR_TABLE

CHECKOUT = {"user_id": 3, "lines": [{"product_id": 1, "quantity": 1}], "payment_token": "tok_ok"}


@pytest.mark.parametrize("shop", ["hybrid-transcoded"], indirect=True)
@pytest.mark.parametrize(
    ("caller", "method", "path", "body", "status", "reason"),
    [
        (None, "GET", "/v1/orders/1", None, 401, "UNAUTHENTICATED"),
        (None, "GET", "/v1/order-lines?limit=5", None, 401, "UNAUTHENTICATED"),
        (None, "GET", "/v1/payments:batchGetByOrder?order_ids=1", None, 401, "UNAUTHENTICATED"),
        (("customer", 3), "GET", "/v1/order-lines?limit=5", None, 403, "PERMISSION_DENIED"),
        (("partner", 1), "GET", "/v1/orders/99999999999", None, 404, "NOT_FOUND"),
        (("partner", 1), "GET", "/v1/orders/0", None, 400, "INVALID_ARGUMENT"),
        (("partner", 1), "POST", "/v1/orders", CHECKOUT, 400, "INVALID_ARGUMENT"),
    ],
)
async def test_error_of_a_service_has_a_body(
    shop: Any, caller: Any, method: str, path: str, body: Any, status: int, reason: str
) -> None:
    headers = {"authorization": shop.token(*caller)} if caller else {}
    async with shop.client(headers=headers) as client:
        answer = await client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    said = answer.json()
    assert said["code"] == StatusCode[ERROR_TABLE[ErrorCode(reason)].grpc].value[0]
    assert said["message"]
    (detail,) = said["details"]
    assert detail["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert (detail["reason"], detail["domain"]) == (reason, "hopwise")
    assert "grpc-status-details-bin" not in answer.headers


@pytest.mark.parametrize("shop", ["hybrid-transcoded"], indirect=True)
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "about"),
    [
        ("GET", "/v1/nothing", None, 404, "NOT_FOUND", "path"),
        ("DELETE", "/v1/orders/1", None, 404, "NOT_FOUND", "path"),
        ("GET", "/v1/orders/abc", None, 400, "INVALID_ARGUMENT", "abc"),
        ("GET", "/v1/orders/1?colour=red", None, 400, "INVALID_ARGUMENT", "colour"),
        ("POST", "/v1/orders", '{"user_id":', 400, "INVALID_ARGUMENT", "end of string"),
    ],
)
async def test_error_of_the_edge_is_a_problem_as_a_gateway_s(
    shop: Any, method: str, path: str, body: str | None, status: int, code: str, about: str
) -> None:
    async with shop.client() as client:
        answer = await client.request(method, path, content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert about in problem.pop("detail")
    row = ERROR_TABLE[ErrorCode(code)]
    assert problem == {
        "type": row.problem_type,
        "title": row.title,
        "status": status,
        "instance": path.partition("?")[0],
        "code": code,
    }


def test_edge_and_services_speak_of_the_same_errors() -> None:
    for reply in REPLIES:
        row = ERROR_TABLE[ErrorCode(reply.code)]
        assert reply.title == row.title
        # An unknown method is UNIMPLEMENTED, in gRPC's own words.
        assert reply.grpc_status == StatusCode[row.grpc].value[0] or reply.code == "NOT_FOUND"
