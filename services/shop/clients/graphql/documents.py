"""The documents of the calls, written from the types of the ports.

The field of a call has the call's name, without the verb of a read; arguments have the names of the request's fields.
Aliases give the fields of an answer their names in Python, so that it decodes into value types as it comes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from msgspec import Struct, structs

from shop.clients.methods import EXPECTED, Method, bare, is_optional

_VERB = re.compile("(batch_)?(get|list)_|stream_")
_SNAKE = re.compile("_([a-z])")
_SCALARS: Mapping[Any, str] = {int: "Long!", str: "String!"}


class _PageField(NamedTuple):
    """The field of a page, and the name of its items there."""

    name: str
    items: str


_PAGES = {
    "list_products": _PageField("productPage", "products"),
    "list_products_with_reviews": _PageField("productPageWithReviews", "products"),
    "list_users": _PageField("userPage", "users"),
}
"""Pages whose field has another name than the rule gives it, since a batch has that name."""


class Document:
    """The operation that a client sends for a call.

    Args:
        method: The method that is called.

    Attributes:
        text: The operation.
        persisted: Its hash, which is sent in its place.
        attributes: Attributes of its span.
    """

    __slots__ = ("attributes", "name", "persisted", "text")

    def __init__(self, method: Method) -> None:
        kind = "subscription" if method.watches else "query" if method.contract.reads else "mutation"
        page = _PAGES.get(method.name, _PageField(camel(_VERB.sub("", method.name, count=1)), "items"))
        types = _variables(method)
        declared = ", ".join(f"${name}: {kind}" for name, kind in types.items())
        arguments = ", ".join(f"{name}: ${name}" for name in types)
        self.name = method.contract.name.removeprefix("Stream")
        self.text = (
            f"{kind} {self.name}({declared}) {{ {page.name}({arguments}){_selection(method.answer, page.items)} }}"
        )
        self.attributes = {"graphql.operation.type": kind, "graphql.operation.name": self.name}
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        self.persisted = {"persistedQuery": {"version": 1, "sha256Hash": digest}}


@cache
def camel(name: str) -> str:
    """Returns a name as GraphQL has it: "product_id" is "productId"."""
    return _SNAKE.sub(lambda letter: letter[1].upper(), name)


def _variables(method: Method) -> dict[str, str]:
    """Returns the types of a document's variables by name."""
    types = {}
    for name, parameter in method.parameters.items():
        top, _, inside = parameter.field.partition(".")
        if inside:
            types[camel(top)] = f"{top.title()}ChangeInput!" if method.masked else f"New{top.title()}Input!"
        else:
            types[camel(top)] = ("Expected" if name == EXPECTED else "") + _input(parameter.type)
    return types


def _input(kind: Any) -> str:
    if is_optional(kind):
        return _input(bare(kind)).removesuffix("!")
    if get_origin(kind) is Sequence:
        return f"[{_input(get_args(kind)[0])}]!"
    return _SCALARS.get(kind) or f"{kind.__name__}{'Input' if issubclass(kind, Struct) else ''}!"


def _selection(kind: Any, items: str = "items") -> str:
    """Returns the fields of an answer of a type; nothing for a scalar."""
    kind = bare(kind)
    if get_origin(kind) in (list, tuple):
        return _selection(get_args(kind)[0])
    if not hasattr(get_origin(kind) or kind, "__struct_fields__"):
        return ""
    fields = []
    for field in structs.fields(kind):
        name = items if field.name == "items" else camel(field.name)
        alias = "" if name == field.name else f"{field.name}: "
        fields.append(f"{alias}{name}{_selection(field.type)}")
    return f" {{ {' '.join(fields)} }}"
