"""JSON into typed values, with the place of whatever is wrong."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from hops.errors import MalformedTraceError
from hops.traces.otlp import malformed

T = TypeVar("T")


def read_one(decoder: msgspec.json.Decoder[T], text: msgspec.Raw | bytes | memoryview, where: str) -> T:
    """Decodes one value.

    Args:
        decoder: Decoder of the type that is expected.
        text: JSON.
        where: Name of the input, for messages.

    Raises:
        MalformedTraceError: The text is no JSON, or a value is missing or of another type; the message names the place.
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise malformed(error, where) from error
    except UnicodeDecodeError as error:
        raise MalformedTraceError(
            f"{where}: not UTF-8 at byte {error.start}; convert it, as by `iconv -t utf-8`"
        ) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedTraceError(f"{where}: not JSON: {error}") from error
