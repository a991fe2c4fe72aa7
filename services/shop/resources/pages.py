"""Pages of lists that the services stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shop.platform import page_token as tokens
from shop.platform.rest.parameters import check_alone

T = TypeVar("T")


def start(scope: str, page_token: str, name: str, after: int, key: bytes) -> int:
    """Returns the id after which a page starts: that of a token of this list, or the parameter `name`, `after`.

    Raises `InvalidPageToken` for a token of another list, and `InvalidRequest` for both a token and that parameter.
    """
    if not page_token:
        return after
    check_alone("page_token", {name: after})
    return tokens.decode(page_token, scope, key=key)


def next_token(scope: str, page: list[T], page_size: int, last: Callable[[T], int], key: bytes) -> str:
    """Returns the token of the next page; empty after a page that is not full."""
    return tokens.encode(scope, last(page[-1]), key=key) if len(page) == page_size else ""
