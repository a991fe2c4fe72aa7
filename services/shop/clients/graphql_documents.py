"""The documents for the calls, generated from the ports' types.

The field for a call has the call's name, without the verb if the call reads. Arguments have the names of the
request's fields. Aliases give the fields of an answer their Python names, so that the answer decodes directly into
value types.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import get_args, get_origin

from msgspec import Struct, structs

from shop.contract.graphql import camel, group_name, operation_of, root_field
from shop.contract.signatures import EXPECTED, PortMethod, bare, is_optional

_SCALARS: Mapping[object, str] = {int: "Long!", str: "String!"}


class CallDocument:
    """The operation that a client sends for a call; `persisted` is its hash, which is sent instead of the document."""

    __slots__ = ("attributes", "name", "persisted", "text")

    def __init__(self, method: PortMethod[..., object]) -> None:
        kind, field = operation_of(method), root_field(method)
        types = _variables(method)
        declared = ", ".join(f"${name}: {kind}" for name, kind in types.items())
        arguments = ", ".join(f"{name}: ${name}" for name in types)
        self.name = method.contract.name.removeprefix("Stream")
        self.text = (
            f"{kind} {self.name}({declared}) {{ {field.name}({arguments}){_selection(method.answer, field.items)} }}"
        )
        self.attributes = {"graphql.operation.type": kind, "graphql.operation.name": self.name}
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        self.persisted = {"persistedQuery": {"version": 1, "sha256Hash": digest}}


def _variables(method: PortMethod[..., object]) -> dict[str, str]:
    types = {}
    for name, parameter in method.parameters.items():
        top, _, inside = parameter.field.partition(".")
        if inside:
            types[camel(top)] = f"{group_name(method, top)}!"
        else:
            types[camel(top)] = ("Expected" if name == EXPECTED else "") + _input(parameter.type)
    return types


def _input(kind: type) -> str:
    if is_optional(kind):
        return _input(bare(kind)).removesuffix("!")
    if get_origin(kind) is Sequence:
        return f"[{_input(get_args(kind)[0])}]!"
    return _SCALARS.get(kind) or f"{kind.__name__}{'Input' if issubclass(kind, Struct) else ''}!"


def _selection(kind: type, items: str = "items") -> str:
    """Returns the selection for an answer's type; empty for a scalar."""
    form = bare(kind)
    if get_origin(form) in (list, tuple):
        return _selection(get_args(form)[0])
    if not hasattr(get_origin(form) or form, "__struct_fields__"):
        return ""
    fields = []
    for field in structs.fields(form):
        name = items if field.name == "items" else camel(field.name)
        alias = "" if name == field.name else f"{field.name}: "
        fields.append(f"{alias}{name}{_selection(field.type)}")
    return f" {{ {' '.join(fields)} }}"
