"""GraphQL's names for calls and their parameters, used by the services' schemas and their clients' documents."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from shop.contract.signatures import PortMethod

ROWS_PER_PAGE = 2_000
"""Maximum number of rows in the answer to a call that streams over other protocols."""

_VERB = re.compile("(batch_)?(get|list)_|stream_")
_SNAKE = re.compile("_([a-z])")


class RootField(NamedTuple):
    """The field for a call, and the name of its field with the items, if the call returns a page."""

    name: str
    items: str = "items"


_PAGES = {
    "list_products": RootField("productPage", "products"),
    "list_products_with_reviews": RootField("productPageWithReviews", "products"),
    "list_users": RootField("userPage", "users"),
}
"""Fields for pages that do not follow the naming rule, since the field for the batch call already has that name."""


def root_field(method: PortMethod[..., object]) -> RootField:
    return _PAGES.get(method.name) or RootField(camel(_VERB.sub("", method.name, count=1)))


def operation_of(method: PortMethod[..., object]) -> str:
    """Returns a call's kind of operation: "query", "mutation" or "subscription"."""
    return "subscription" if method.watches else "query" if method.contract.reads else "mutation"


def group_name(method: PortMethod[..., object], resource: str) -> str:
    """Returns the name of the input type for the fields of a resource: "NewProductInput"."""
    return f"{resource.title()}ChangeInput" if method.masked else f"New{resource.title()}Input"


@cache
def camel(name: str) -> str:
    """Returns a name in GraphQL's spelling: "product_id" is "productId"."""
    return _SNAKE.sub(lambda letter: letter[1].upper(), name)
