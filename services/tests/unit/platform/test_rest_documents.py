"""Each service's OpenAPI document: valid, complete, and about its own resources; `test_calls.py` has the routes."""

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

SERVICES = {"product": product, "user": user, "order": order, "payment": payment, "notification": notification}


def app(name: str) -> Any:
    return SERVICES[name].build_app(None, Incoming(Authenticator(None, trusts_inside=True)))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SERVICES)
def test_document_is_valid_and_complete(name: str) -> None:
    made = document(app(name))
    schemathesis.openapi.from_dict(made).validate()
    for operations in made["paths"].values():
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
