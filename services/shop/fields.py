"""What the fields of value types mean: for people, and for the schemas of these types that APIs publish.

The descriptions are only documentation: no value is checked against them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

MAX_ID = 2**63 - 1


def describe(description: str | None = None, **keywords: int | str) -> Meta:
    """Returns a note for `Annotated`: a sentence for its readers, and keywords of JSON Schema (`minimum=1`)."""
    return Meta(description=description, extra_json_schema=keywords or None)


Id = Annotated[int, describe(minimum=1, maximum=MAX_ID)]
Pieces = Annotated[int, describe("Pieces.", minimum=1)]
INSTANT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
Instant = Annotated[datetime, describe("RFC 3339, whole seconds, UTC.", pattern=INSTANT)]
