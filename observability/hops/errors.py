"""The errors of `hops`; `HopsError` is the base of all."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escapes control characters, which could do harm on a terminal or in XML."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class HopsError(Exception):
    """Base of every error raised by this package."""

    def __str__(self) -> str:
        # A message may quote any text from a file, and a terminal would execute control characters in it.
        return "\n".join(map(printable, super().__str__().split("\n")))


class MalformedTraceError(HopsError):
    """The input is in no known trace format; the message says where."""


class SourceError(HopsError):
    """There is nothing to read; the message names the file or address."""


class MalformedJourneysError(HopsError):
    """The generator's rows cannot be read; the message names the file and the column."""


class MalformedRunError(HopsError):
    """A results folder cannot be read; the message names the file."""


class NotComparableError(HopsError):
    """Two runs must not be compared; the message lists every reason."""


class InputError(HopsError):
    """The user's input is invalid; the message names it and the valid choices."""


class JaegerError(HopsError):
    """Jaeger's query API cannot be used; the message names the address."""


class NotEnoughDataError(HopsError):
    """There are no data for a figure."""
