"""Reads JSON that has one meaning (RFC 8259, RFC 7493): in UTF-8, and with each member of an object once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import orjson

from shop.errors import InvalidArgument

_MAX_NAME = 40


def loads(text: bytes | str) -> Any:
    """Returns the value that a JSON text stands for.

    Raises:
        json.JSONDecodeError: It is not JSON, not UTF-8, or nested too deeply.
        InvalidArgument: An object has a member twice: one reader would take the first, another the last.
    """
    value = orjson.loads(text)  # which also refuses NaN, lone surrogates and deep nesting
    if isinstance(value, dict | list):
        try:
            _MEMBERS.decode(text if isinstance(text, str) else text.decode())
        except RecursionError:
            raise json.JSONDecodeError("it is nested too deeply", "", 0) from None
    return value


def _check_members(members: list[tuple[str, Any]]) -> None:
    if len(dict(members)) < len(members):
        [(name, _)] = Counter(name for name, _ in members).most_common(1)
        twice = name[:_MAX_NAME]
        raise InvalidArgument(f"{twice} is given twice; give it once", field=twice)


_MEMBERS = json.JSONDecoder(object_pairs_hook=_check_members)
