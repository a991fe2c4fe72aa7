"""Translates pydantic's errors about a file's data for readers who do not know pydantic."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from user_files.words import describe, in_quotes, valid
from user_files.yaml_file import Place, YamlFile

_SENTENCES = {
    "missing": "is missing",
    **dict.fromkeys(("string_type", "string_unicode"), "must be text, not {given}"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number, not {given}"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number, not {given}"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false, not {given}"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list, not {given}"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a mapping, not {given}"),
    "invalid_key": "the key must be text, not {given}",
    "greater_than_equal": "is {given}; it must be at least {ge}",
    "greater_than": "is {given}; it must be above {gt}",
    "less_than_equal": "is {given}; it must be at most {le}",
    "less_than": "is {given}; it must be below {lt}",
    "finite_number": "is {given}; it must be a finite number",
    "too_short": "has {actual_length} entries; it needs at least {min_length}",
    "too_long": "has {actual_length} entries; it may have at most {max_length}",
    "string_too_short": "is {given}; it needs at least {min_length} characters",
    "string_too_long": "is {given}; it may have at most {max_length} characters",
}
"""Message by the type of pydantic's error; other errors keep pydantic's words."""


Model = TypeVar("Model", bound=BaseModel)


def validate(file: YamlFile, model: type[Model], hints: Callable[[str], str] = lambda _: "") -> Model:
    """Converts the data of a file to a model.

    Args:
        file: File to read.
        model: Type to convert to.
        hints: Returns what to write if a text does not match a pattern, given the pattern.

    Raises:
        Exception: The file's own error, with a line for each mistake.
    """
    if not isinstance(file.data, dict):
        given = "is empty" if file.data is None else "is not a mapping"
        needed = [
            key for key, field in zip(keys_of(model), model.model_fields.values(), strict=True) if field.is_required()
        ]
        raise file.wrong(f"{given}; give a mapping with the keys {', '.join(needed)}")
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        raise file.all_wrong(mistakes(error, file.data, model, hints)) from error


def mistakes(
    error: ValidationError, data: Any, model: type[BaseModel], hints: Callable[[str], str]
) -> list[tuple[Place, str]]:
    """Lists every mistake, with its place.

    Args:
        error: Error of the model.
        data: Data of the file.
        model: Type of the data.
        hints: Says what to write if a text does not match a pattern, given the pattern.
    """
    by_place: dict[tuple[object, ...], list[str]] = {}
    for item in error.errors():
        place = tuple(_place(item, data))
        texts = by_place.setdefault(place, [])
        if (text := _sentence(item, place, model, hints)) not in texts:
            texts.append(text)
    return [
        (place, "; or ".join(texts))
        for place, texts in by_place.items()
        # If entries of a list are wrong, pydantic also reports that the list has too few.
        if not any(len(other) > len(place) and other[: len(place)] == place for other in by_place)
    ]


def keys_of(model: type[BaseModel]) -> list[str]:
    """Lists the keys of a model, as files spell them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _place(item: Mapping[str, Any], data: Any) -> Iterator[object]:
    """Yields the keys that lead to a mistake, without the names that pydantic gives to alternatives."""
    *above, last = item["loc"] or [None]
    for key in above:
        if (isinstance(data, dict) and key in data) or (isinstance(data, list) and isinstance(key, int)):
            yield key
            data = data[key]
    is_there = (isinstance(data, dict) and last in data) or (isinstance(data, list) and isinstance(last, int))
    if is_there or item["type"] == "missing":
        yield last


def _sentence(item: Mapping[str, Any], place: Place, model: type[BaseModel], hints: Callable[[str], str]) -> str:
    kind, given, context = item["type"], item["input"], item.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return f"is not a key here; {valid(place[-1], _valid_keys(model, place[:-1]))}"
        case "value_error":
            return str(context["error"])
        case "enum" | "literal_error":
            choices = str(context["expected"]).replace(" or ", ", ").replace("'", "")
            return f"{describe(given)} is unknown; {valid(given, choices.split(', '))}"
        case "string_pattern_mismatch":
            pattern = context["pattern"]
            return f"{describe(given)} is not valid; {hints(pattern) or f'it must match {pattern}'}"
    text = _SENTENCES.get(kind)
    if text is None:
        return str(item["msg"]).replace("Input should be", "must be").replace("Value should", "must")
    text = text.format(given=describe(given), **{name: _figure(value) for name, value in context.items()})
    if kind in ("string_type", "invalid_key"):
        return text + in_quotes(given)
    return text.replace(" 1 entries", " 1 entry").replace(" 1 characters", " 1 character")


def _figure(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) and value == int(value) else str(value)


def _valid_keys(model: type[BaseModel], place: Place) -> list[str]:
    """Lists the valid keys at a place in a model."""
    kinds: list[Any] = [model]
    for key in place:
        kinds = [inner for kind in kinds for below in _below(kind, key) for inner in _alternatives(below)]
    return [key for kind in kinds if _is_model(kind) for key in keys_of(kind)]


def _below(kind: Any, key: Any) -> Iterator[Any]:
    """Yields the types that a type allows at a key."""
    if _is_model(kind):
        yield from (field.annotation for name, field in kind.model_fields.items() if key in (name, field.alias))
    elif arguments := get_args(kind):
        yield arguments[1] if get_origin(kind) is dict else arguments[0]


def _alternatives(kind: Any) -> Iterator[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif origin in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _alternatives(one)
    else:
        yield kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
