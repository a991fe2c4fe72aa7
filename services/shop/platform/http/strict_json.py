"""Reads JSON that has only one meaning (RFC 8259, RFC 7493): in UTF-8, with each member of an object only once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from shop.errors import InvalidArgument

_MAX_NAME = 40


def loads(text: bytes | str) -> Any:
    """Returns the value of a JSON text. Its strings may have lone surrogates, which a check of the field refuses.

    Raises `json.JSONDecodeError` if the text is not JSON, not UTF-8, or nested too deeply. Raises `InvalidArgument` if
    an object has a member twice: one reader would take the first, and another the last.
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None
    except ValueError as error:  # not UTF-8, or a number of thousands of digits
        raise json.JSONDecodeError(str(error), "", 0) from None


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        [(name, _)] = Counter(name for name, _ in members).most_common(1)
        twice = name[:_MAX_NAME].encode(errors="backslashreplace").decode()  # half of a surrogate pair is no text
        raise InvalidArgument(f"{twice} is given twice; give it once", field=twice)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a JSON value", "", 0)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)
