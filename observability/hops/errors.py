"""The errors of `hops`.

HopsError
├── MalformedTraceError     the bytes are not in the trace format that they claim to be in.
├── SourceError             there is no such file, or no query API answers.
├── MalformedJourneysError  the generator's rows lack a column or have an unknown value.
├── MalformedRunError       a file in a results folder is missing, truncated, or has another schema.
├── NotComparableError      two runs whose difference would be meaningless.
├── InputError              a name or value that the user gave does not exist, or cannot be read.
├── JaegerError             the query API did not answer, or its answer is not a trace.
└── NotEnoughDataError      nothing was measured for a figure.
"""

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
