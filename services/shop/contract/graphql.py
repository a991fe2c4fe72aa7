"""Names that GraphQL has for calls and their parameters, for the services' schemas and for their clients' documents."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from shop.contract.methods import PortMethod

ROWS_A_PAGE = 2_000
"""Rows of one answer, where other protocols stream."""

_VERB = re.compile("(batch_)?(get|list)_|stream_")
_SNAKE = re.compile("_([a-z])")


class RootField(NamedTuple):
    """The field of a call.

    Attributes:
        name: Its name: the call's, without the verb of a read.
        items: Name of the items, if it returns a page.
    """

    name: str
    items: str = "items"


_PAGES = {
    "list_products": RootField("productPage", "products"),
    "list_products_with_reviews": RootField("productPageWithReviews", "products"),
    "list_users": RootField("userPage", "users"),
}
"""Pages whose field has another name than the rule gives it, since a batch has that name."""


def root_field(method: PortMethod[..., object]) -> RootField:
    """Returns the field of a call."""
    return _PAGES.get(method.name) or RootField(camel(_VERB.sub("", method.name, count=1)))


def operation_of(method: PortMethod[..., object]) -> str:
    """Returns the operation that a call is: "query", "mutation" or "subscription"."""
    return "subscription" if method.watches else "query" if method.contract.reads else "mutation"


def group_name(method: PortMethod[..., object], resource: str) -> str:
    """Returns the name of the input type that holds the fields of a resource: "NewProductInput"."""
    return f"{resource.title()}ChangeInput" if method.masked else f"New{resource.title()}Input"


@cache
def camel(name: str) -> str:
    """Returns a name as GraphQL has it: "product_id" is "productId"."""
    return _SNAKE.sub(lambda letter: letter[1].upper(), name)
