"""Classifies the arguments in the contracts: what each argument identifies, and who owns it.

Every argument of every contract must be listed here. The attempts of `over_grpc`, `over_rest` and `over_graphql` are
generated from the contracts, and an argument with an unclassified name fails the test.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What an argument identifies that belongs to one customer."""

    USER = "user"
    ORDER = "order"
    PAYMENT = "payment"
    LINE = "line"
    CHECKOUT = "checkout"
    PAGE = "page"
    KEY = "key"


@dataclass(frozen=True)
class Ids:
    """Identifiers of one customer's things, or of things that do not exist; both have values of the same length."""

    user: int
    order: int
    payment: int
    line: int
    checkout: str
    page: str
    key: str

    def of(self, kind: Kind) -> Any:
        return getattr(self, kind.value)


OWNED = {
    "user_id": Kind.USER,
    "order_id": Kind.ORDER,
    "order_ids": Kind.ORDER,
    "payment_id": Kind.PAYMENT,
    "checkout_id": Kind.CHECKOUT,
    "reservation_id": Kind.CHECKOUT,
    "after_line_id": Kind.LINE,
    "idempotency_key": Kind.KEY,
}
RESOURCES = {"User": Kind.USER, "Order": Kind.ORDER, "Payment": Kind.PAYMENT, "Product": None, "Document": None}
NONCE = "<nonce>"
# All other arguments: none of them identifies a customer's thing.
PLAIN: dict[str, Any] = {
    "document_id": 1,
    "product_id": 9000,
    "product_ids": [9000],
    "after_product_id": 0,
    "page_size": 5,
    "first": 2,
    "limit": 5,
    "review_limit": 2,
    "category": "c0001",
    "include": "",
    "fields": "",
    "quantity": 1,
    "payment_token": "tok_ok",
    "title": "Title",
    "description": "About",
    "amount_minor": 100,
    "currency": "EUR",
    "stock": 5,
    "status": "SHIPPED",
    "email": f"{NONCE}@example.com",
    "name": "Mallory",
    "recipient": "Mallory",
    "street": "Street 1",
    "city": "City",
    "postal_code": "12345",
    "country_code": "DE",
    "password": "correct horse",
    "if_match": "",
    "if_none_match": "",
}
# This argument is the resource as the caller last read it. The call also has the resource's id; an update with another
# id in this argument is refused.
CONDITIONS = {"expected"}
# Identifiers of resources that a caller may send, and that the services ignore.
IGNORED = {"CreateUser.user.id", "CreateProduct.product.id"}


class UnclassifiedError(AssertionError):
    """A contract has an argument that this module does not list."""


def classify(where: str, name: str, resource: str, *, names_user: bool) -> Kind | None:
    """Returns what an argument (in snake case) of a method for a resource identifies; raises an UnclassifiedError.

    If the method also names a user, its pages belong to that user.
    """
    if name in OWNED:
        return OWNED[name]
    if name in ("id", "ids") and resource in RESOURCES:
        return RESOURCES[resource]
    if name in ("page_token", "after"):
        return Kind.PAGE if names_user else None
    if name in PLAIN:
        return None
    raise UnclassifiedError(
        f"{where}: does {name!r} name what belongs to a customer? Say it in OWNED or PLAIN of {__file__}"
    )


def resource_of(text: str) -> str:
    """Returns the resource of a method, message or path: the first resource that the text names."""
    match = re.search("|".join(RESOURCES), text, re.IGNORECASE)
    return match[0].capitalize() if match else ""


def snake(name: str) -> str:
    """Converts a name in GraphQL or of a header to the other contracts' spelling."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").lower()


@dataclass(frozen=True)
class Attempt:
    """One argument of one method that may identify another customer's thing.

    Attributes:
        send: Makes the call with a token and a value, and the caller's own values elsewhere; returns the answer.
        makes: Whether the call creates something with a new id.
        ignored: Whether the service ignores the argument, no matter who sends it.
    """

    name: str
    kind: Kind
    send: Callable[[str, Ids, Any], str]
    makes: bool = False
    ignored: bool = False


@dataclass
class Nonces:
    """Values that may be used only once, all of the same length."""

    used: list[str] = field(default_factory=list)

    def new(self) -> str:
        self.used.append(uuid.uuid4().hex)
        return self.used[-1]

    def hide(self, text: str) -> str:
        """Returns the text without the values that this object has issued."""
        for used in self.used:
            text = text.replace(used, NONCE)
        return text


NONCES = Nonces()
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?")
_MADE = re.compile(r"'etag', '[^']*'|\d{5,}|[A-Za-z0-9+/]{11,}={0,2}(?=\")")


def normalize(attempt: Attempt, value: Any, answer: str) -> str:
    """Returns an answer without the requested identifier."""
    spelled = [str(value), base64.b64encode(str(value).encode()).decode()]
    spelled += [base64.b64encode(f"{name}:{value}".encode()).decode() for name in (*RESOURCES, "OrderLine")]
    for form in spelled:
        answer = answer.replace(form, "<id>")
    answer = NONCES.hide(answer)
    return _MADE.sub("<made>", _TIME.sub("<time>", answer)) if attempt.makes else answer
