"""Decodes JSON into typed values; errors name the place."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from hops.errors import MalformedTraceError

T = TypeVar("T")

_PLACE = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<place>.*)`)?", re.DOTALL)
_FOLLOWS = re.compile(r"trailing characters \(byte (\d+)\)")


class NotJsonError(MalformedTraceError):
    """The text is not JSON, or is cut off, or is followed by more text, from byte `follows_at` if that is above 0."""

    def __init__(self, message: str, follows_at: int = 0) -> None:
        super().__init__(message)
        self.follows_at = follows_at


def read_one(decoder: msgspec.json.Decoder[T], text: msgspec.Raw | bytes | memoryview, where: str) -> T:
    """Decodes one value; raises `NotJsonError`, or another `MalformedTraceError`, which names the place."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        match = _PLACE.fullmatch(str(error))
        assert match is not None
        raise MalformedTraceError(f"{where}{match['place'] or ''}: {match['what']}") from error
    except UnicodeDecodeError as error:
        raise MalformedTraceError(
            f"{where}: not UTF-8 at byte {error.start}; convert it, for example with `iconv -t utf-8`"
        ) from error
    except (msgspec.DecodeError, RecursionError) as error:
        follows = _FOLLOWS.search(str(error))
        raise NotJsonError(f"{where}: not JSON: {error}", int(follows[1]) - 1 if follows else 0) from error
