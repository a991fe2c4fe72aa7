"""Each service's OpenAPI document: valid, complete, and about its own resources only."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis

from shop.notification import rest as notification
from shop.order import rest as order
from shop.payment import rest as payment
from shop.platform.access.rules import Authenticator
from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import document
from shop.product import rest as product
from shop.user import rest as user

SERVICES = {
    "product": (product, {"/v1/products", "/v1/documents", "/v1/reviews", "/v1/product-rows", "/v1/reservations"}),
    "user": (user, {"/v1/sessions", "/v1/users"}),
    "order": (order, {"/v1/orders", "/v1/order-lines", "/v1/users/{user_id}/orders"}),
    "payment": (payment, {"/v1/payments"}),
    "notification": (
        notification,
        {"/v1/order-events", "/v1/users/{user_id}/notifications", "/v1/orders/{order_id}/events"},
    ),
}


def app(name: str) -> Any:
    service: Any = _Nothing()
    return SERVICES[name][0].build_app(service, Incoming(Authenticator(None, trusts_inside=True)))  # type: ignore[attr-defined]


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        return None


@pytest.mark.parametrize("name", SERVICES)
def test_document_is_valid_and_of_this_service(name: str) -> None:
    made = document(app(name))
    schemathesis.openapi.from_dict(made).validate()
    valid = SERVICES[name][1]
    for path, operations in made["paths"].items():
        assert any(path == one or (path.startswith(one) and path[len(one)] in "/:") for one in valid), path
        for operation in operations.values():
            assert operation["description"]
            assert {"400", "500", "503", "504"} <= set(operation["responses"])
            assert ("security" in operation) == (operation["x-access"] in ("caller", "partner"))


@pytest.mark.parametrize(
    ("name", "path"), [("order", "/v1/orders/1?include=payment"), ("product", "/v1/products/1?include=orders")]
)
async def test_things_of_other_services_are_not_included(name: str, path: str) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app(name)), base_url="http://service") as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["field"]) == (400, "include")


@pytest.mark.parametrize("name", SERVICES)
def test_schemas_of_answers_have_published_names_and_no_unknown_fields(name: str) -> None:
    schemas = document(app(name))["components"]["schemas"]
    assert not [own_name for own_name in schemas if own_name[1:].endswith("Document")]
    for title, schema in schemas.items():
        assert schema["title"] == title
        if "properties" in schema:
            assert schema["additionalProperties"] is False, title


def test_fields_say_what_they_mean() -> None:
    fields = document(app("payment"))["components"]["schemas"]["Payment"]["properties"]
    assert fields["order_id"] == {
        "type": "integer",
        "minimum": 0,
        "description": "The order it belongs to; 0 until it is captured.",
    }
    assert fields["placed_at"]["description"] == "When it was authorised; there only for callers inside the shop."
    assert fields["placed_at"]["pattern"].endswith("Z$")
