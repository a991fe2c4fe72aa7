"""Pages of listings."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

MAX_ROWS = 100_000
"""Maximum number of rows of a listing without pages: of products, of order lines."""

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, gc=False):
    """One page of a listing; `next_page_token` is empty after the last page."""

    items: tuple[T, ...]
    next_page_token: str
