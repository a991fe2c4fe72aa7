"""What each resource refuses: from which callers, with which status, and what the problem says."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from gateway_shop import ForUser, Headers
from memory_shop import MemoryShop

BUY = {"user_id": 3, "lines": [{"product_id": 5, "quantity": 2}], "payment_token": "tok_ok"}
LOGIN = {"email": "user3@example.com", "password": "hopwise-demo"}
ADDRESS = {"recipient": "A", "street": "B 1", "city": "C", "postal_code": "12345", "country_code": "DE"}
NEW_USER = {"email": "user3@example.com", "name": "Ada", "address": ADDRESS, "password": "correct horse"}
BIG = "9223372036854775808"
ONE_CENT = {"amount_minor": 1, "currency": "EUR"}

PARAMETERS = [
    *[("/v1/products", f"ids={ids}", "ids") for ids in ("1,x", "1,,2", "0", BIG, ",".join(["1"] * 1001))],
    *[("/v1/products", f"ids=1&{other}=c0000", other) for other in ("category", "page_token")],
    *[("/v1/products", f"page_size={size}", "page_size") for size in ("0", "1001", "ten")],
    ("/v1/products", "page_token=made-up", "page_token"),
    ("/v1/products", "category=No+Such!", "category"),
    ("/v1/products", "include=reviews,authors", "include"),
    ("/v1/products", "pagesize=3", "pagesize"),
    *[("/v1/payments", query, "order_ids") for query in ("", "order_ids=", "order_ids=a")],
    ("/v1/order-lines", "after_line_id=-1", "after_line_id"),
    *[("/v1/order-lines", f"page_size={size}", "page_size") for size in ("0", "10001")],
    ("/v1/order-lines", "page_token=AAAA", "page_token"),
    *[(f"/v1/products/{id_}", "", "product_id") for id_ in ("0", "-1", "x", "1.5", "%2B5", BIG, "1_0")],
]
PRODUCT_CHANGES: list[tuple[dict[str, Any], str]] = [
    ({}, "INVALID_ARGUMENT"),
    *[({"stock": stock}, "stock") for stock in (None, -1, "5", True, 1.5)],
    *[({"title": title}, "title") for title in ("", "a\u0000b")],
    ({"category": "Lamps"}, "category"),
    ({"price": 5}, "price"),
    ({"price": ONE_CENT | {"amount_minor": 0}}, "price.amount_minor"),
    ({"price": ONE_CENT | {"currency": "eur"}}, "price.currency"),
    ({"price": ONE_CENT | {"tax": 1}}, "price.tax"),
    ({"color": "red"}, "color"),
]
LOGINS = [
    ({"email": "user3@example.com"}, "password"),
    (LOGIN | {"password": 12345678}, "password"),
    (LOGIN | {"email": "no at sign"}, "email"),
    (LOGIN | {"remember": True}, "remember"),
]
PURCHASES = [
    ({"payment_token": "tok_declined"}, 402, "PAYMENT_DECLINED"),
    ({"payment_token": "tok_unknown"}, 400, "INVALID_ARGUMENT"),
    ({"user_id": 999}, 404, "NOT_FOUND"),
    ({"lines": [{"product_id": 999, "quantity": 1}]}, 404, "NOT_FOUND"),
    *[({"lines": lines}, 400, "lines") for lines in ([], [{"product_id": 5, "quantity": 1}] * 101, {"product_id": 5})],
    *[({"lines": [{"product_id": 5, "quantity": many}]}, 400, "lines[0].quantity") for many in (0, 1001)],
    ({"lines": [{"product_id": "5", "quantity": 1}]}, 400, "lines[0].product_id"),
    ({"lines": [{"product_id": 5, "quantity": 1}, {"product_id": 6, "quantity": "two"}]}, 400, "lines[1].quantity"),
    ({"user_id": 2**63}, 400, "user_id"),
    ({"coupon": "free"}, 400, "coupon"),
]
TO_STATUS = "status: it must be one of: SHIPPED, DELIVERED"
TOO_LATE = "order 1 is SHIPPED; only a CONFIRMED order can be cancelled"
NO_LOGIN = "e-mail and password do not match"
INCLUDES = [
    ("/v1/orders/3?include=refunds", "include='refunds' is not valid; valid: payment, products, user"),
    ("/v1/products/1?include=author", "include='author' is not valid; valid: reviews"),
    ("/v1/products/1?field=id", "field: this query parameter is unknown; valid ones are include, fields"),
    (
        "/v1/orders/3?fields=total.vat",
        "fields names 'total.vat', which is no field; valid: total.amount_minor, total.currency",
    ),
]
CLOSED = [
    (4, "POST", "/v1/orders", BUY),
    (4, "PATCH", "/v1/orders/4", {"status": "SHIPPED"}),
    (3, "PATCH", "/v1/users/4", {"name": "Eve"}),
    (3, "DELETE", "/v1/users/4", None),
    *[(3, "GET", path, None) for path in ("/v1/users/4/orders", "/v1/users/4", "/v1/users", "/v1/order-lines")],
]

REFUSED: list[tuple[str | int, str, str, Any, int, str]] = [
    *[("partner", "GET", f"{path}?{query}", None, 400, field) for path, query, field in PARAMETERS],
    *[("partner", "GET", path, None, 400, detail) for path, detail in INCLUDES],
    *[("partner", "PATCH", "/v1/products/3", change, 400, field) for change, field in PRODUCT_CHANGES],
    *[("", "POST", "/v1/sessions", login, 400, field) for login, field in LOGINS],
    *[
        ("", "POST", "/v1/sessions", LOGIN | other, 401, NO_LOGIN)
        for other in ({"email": "a@b"}, {"password": "x" * 9})
    ],
    *[("partner", "POST", "/v1/orders", BUY | change, status, said) for change, status, said in PURCHASES],
    *[("partner", "PATCH", "/v1/orders/4", {"status": to}, 400, TO_STATUS) for to in ("CONFIRMED", "shipped", 3, None)],
    ("partner", "POST", "/v1/orders/1:cancel", None, 409, TOO_LATE),
    *[
        ("", "GET", f"/v1/products/999{query}", None, 404, "there is no product 999")
        for query in ("", "?include=reviews")
    ],
    ("", "POST", "/v1/users", NEW_USER, 409, "ALREADY_EXISTS"),
    *[(who, method, path, body, 403, "PERMISSION_DENIED") for who, method, path, body in CLOSED],
    ("", "GET", "/v1/order-lines", None, 401, "UNAUTHENTICATED"),
]


@pytest.mark.parametrize(("who", "method", "path", "body", "status", "said"), REFUSED)
async def test_a_refusal_says_what_is_wrong(
    api: httpx.AsyncClient,
    partner: Headers,
    customer: ForUser,
    who: str | int,
    method: str,
    path: str,
    body: Any,
    status: int,
    said: str,
) -> None:
    headers = customer(who) if isinstance(who, int) else partner if who else {}
    answer = await api.request(method, path, json=body, headers={**headers, "idempotency-key": "purchase-1"})
    problem = answer.json()
    assert answer.status_code == status
    assert said in (problem["code"], problem.get("field"), problem["detail"])
    assert ("www-authenticate" in answer.headers) == (status == 401)


@pytest.mark.parametrize("key", [None, "", "x" * 65, "tab\tinside"])
async def test_a_purchase_needs_a_key(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers, key: str | None
) -> None:
    answer = await api.post("/v1/orders", json=BUY, headers=partner | ({} if key is None else {"idempotency-key": key}))
    assert (answer.status_code, answer.json()["field"]) == (400, "Idempotency-Key")
    assert shop.record.calls == []


async def test_a_parameter_given_twice_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/products?ids=1&ids=2")
    assert answer.status_code == 400
    assert "twice" in answer.json()["detail"]
