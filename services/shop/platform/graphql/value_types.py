"""GraphQL types made of value types, so that a service's values are returned as they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import EnumType
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import strawberry

from shop.contract.methods import is_optional, is_struct
from shop.fields import Instant as WholeSeconds
from shop.platform.graphql.scalars import Instant, Long, Moment
from shop.values.page import Page

_SCALARS: Mapping[Any, Any] = {int: Long, datetime: Instant}
_, _WHOLE_SECONDS = get_args(WholeSeconds)


class ValueTypes:
    """The types of one schema."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def output(self, kind: Any, items: str = "items") -> Any:
        """Returns the type of a field for the type of its values.

        Args:
            kind: A value type, a list or a page of them, or a scalar.
            items: Name of the field of a page that holds its items.
        """
        if get_origin(kind) is Annotated:
            inner, *notes = get_args(kind)
            return Moment if _WHOLE_SECONDS in notes else self.output(inner, items)
        if is_optional(kind):
            return self.output(_without_none(kind)) | None
        if get_origin(kind) is Page:
            [item] = get_args(kind)
            fields = {"items": GenericAlias(list, item), "next_page_token": str}
            return self._type(f"{item.__name__}Page", "One page of a listing.", fields, {"items": items})
        if get_origin(kind) in (list, tuple):
            return GenericAlias(list, self.output(get_args(kind)[0]))
        if is_struct(kind):
            return self._type(kind.__name__, kind.__doc__, get_type_hints(kind, include_extras=True), {})
        return _leaf(kind)

    def input(self, kind: Any) -> Any:
        """Returns the type of an argument, or of a field of an input, for the type of its values."""
        if get_origin(kind) is Annotated:
            return self.input(get_args(kind)[0])
        if is_optional(kind):
            return self.input(_without_none(kind)) | None
        if get_origin(kind) is not None:
            return GenericAlias(list, self.input(get_args(kind)[0]))
        return self.input_object(f"{kind.__name__}Input", get_type_hints(kind)) if is_struct(kind) else _leaf(kind)

    def input_object(self, name: str, fields: Mapping[str, Any]) -> Any:
        """Returns an input type.

        Args:
            name: Its name.
            fields: The types of its fields; a field that may be None may be left out.
        """
        if name not in self._made:
            defaults = {field: None for field, kind in fields.items() if is_optional(kind)}
            hints = {field: self.input(kind) for field, kind in fields.items()}
            self._made[name] = strawberry.input(type(name, (), {"__annotations__": hints, **defaults}))
        return self._made[name]

    def _type(self, name: str, doc: str | None, fields: Mapping[str, Any], names: Mapping[str, str]) -> Any:
        if name not in self._made:
            described = {
                field: strawberry.field(name=names.get(field), description=_description(kind))
                for field, kind in fields.items()
            }
            hints = {field: self.output(kind) for field, kind in fields.items()}
            made = type(name, (), {"__annotations__": hints, **described})
            self._made[name] = strawberry.type(made, description=(doc or "").partition("\n")[0])
        return self._made[name]


def _leaf(kind: Any) -> Any:
    if isinstance(kind, EnumType):
        return strawberry.enum(kind, description=(kind.__doc__ or "").partition("\n")[0])
    return _SCALARS.get(kind, kind)


def _without_none(kind: Any) -> Any:
    return next(option for option in get_args(kind) if option is not type(None))


def _description(kind: Any) -> str | None:
    if get_origin(kind) is Annotated:
        notes = [note for note in get_args(kind)[1:] if isinstance(note, msgspec.Meta)]
        return notes[0].description if notes else None
    return None
