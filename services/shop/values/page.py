"""Pages of listings."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

DEFAULT_ROWS, MAX_ROWS = 1_000, 100_000
"""Number of rows of a listing without pages, of products or order lines, by default and at most."""

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, gc=False):
    """One page of a listing; `next_page_token` is empty after the last page."""

    items: tuple[T, ...]
    next_page_token: str
