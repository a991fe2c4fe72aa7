"""Pages of what the services stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shop.platform import page_token as tokens
from shop.platform.rest.parameters import check_alone

T = TypeVar("T")


def start(scope: str, page_token: str, name: str, after: int, key: bytes) -> int:
    """Returns the id behind which a page starts.

    Args:
        scope: The list that the tokens belong to.
        page_token: As the client sent it; empty for none.
        name: The parameter that starts anywhere else; not together with a token.
        after: Its value.
        key: Key of this installation's page tokens.

    Raises:
        InvalidPageToken: This list did not hand the token out.
        InvalidRequest: Both were given.
    """
    if not page_token:
        return after
    check_alone("page_token", {name: after})
    return tokens.decode(page_token, scope, key=key)


def next_token(scope: str, page: list[T], page_size: int, last: Callable[[T], int], key: bytes) -> str:
    """Returns the token of the page behind a full one; empty behind one that was not full.

    Args:
        scope: The list that the tokens belong to.
        page: What the page holds.
        page_size: What it could hold.
        last: Returns the id of an entry.
        key: Key of this installation's page tokens.
    """
    return tokens.encode(scope, last(page[-1]), key=key) if len(page) == page_size else ""
