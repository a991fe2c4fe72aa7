"""Relay connections over the services' page tokens.

A service returns one token per page, for the items after the page's last item. A cursor, by contrast, exists for every
item: it has the number of items to skip, and the token of their page: "3.<token>". So a query that resumes in the
middle of a page reads that page again and skips its first items.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import strawberry
from strawberry.relay import PageInfo

from shop.contract.ports import Page
from shop.errors import InvalidArgument, InvalidPageToken

T = TypeVar("T")
V = TypeVar("V")


@strawberry.type(description="One item of a page.")
class Edge(Generic[T]):
    node: T
    cursor: str = strawberry.field(description="Pass it as `after` to continue after this item.")


@strawberry.type(description="A page of items.")
class Connection(Generic[T]):
    edges: list[Edge[T]]
    page_info: PageInfo


def check_first(first: int, maximum: int) -> int:
    """Returns the page's size. Raises `InvalidArgument` if it is below 1 or above `maximum`."""
    if not 1 <= first <= maximum:
        raise InvalidArgument(f"first is {first}; 1 to {maximum} are valid", field="first")
    return first


async def connect(
    fetch: Callable[[int, str], Awaitable[Page[V]]],
    to_node: Callable[[V], T],
    first: int,
    after: str | None,
    maximum: int,
) -> Connection[T]:
    """Returns one page of a service's listing as a connection.

    Args:
        fetch: Reads one page, given its size and a page token.
        first: Items on the page, already checked.
        after: The cursor after which to continue; None for the first page.
        maximum: The largest page to request from the service.

    Raises:
        InvalidPageToken: The cursor does not come from this list.
    """
    skip, token = _split(after, maximum) if after else (0, "")
    try:
        if skip + first > maximum:
            # Rare: a cursor from the middle of a page that itself began in the middle of another page.
            token = (await fetch(skip, token)).next_page_token
            if not token:
                return connection_of([], has_next=False, has_previous=True)
            skip = 0
        page = await fetch(skip + first, token)
    except InvalidPageToken as error:
        raise _bad_cursor() from error
    edges = [
        Edge(node=to_node(item), cursor=f"{place}.{token}")
        for place, item in enumerate(page.items[skip:], start=skip + 1)
    ]
    if edges and page.next_page_token:
        edges[-1].cursor = f"0.{page.next_page_token}"
    return connection_of(edges, has_next=bool(page.next_page_token), has_previous=bool(after))


def connection_of(edges: Sequence[Edge[T]], *, has_next: bool, has_previous: bool) -> Connection[T]:
    info = PageInfo(
        has_next_page=has_next,
        has_previous_page=has_previous,
        start_cursor=edges[0].cursor if edges else None,
        end_cursor=edges[-1].cursor if edges else None,
    )
    return Connection(edges=list(edges), page_info=info)


def _split(cursor: str, maximum: int) -> tuple[int, str]:
    skip, dot, token = cursor.partition(".")
    if not dot or not skip.isascii() or not skip.isdecimal() or len(skip) > 4 or int(skip) > maximum:
        raise _bad_cursor()
    return int(skip), token


def _bad_cursor() -> InvalidPageToken:
    return InvalidPageToken(
        "after is not a cursor of this list; use the `cursor` or `endCursor` of a page of the same list and "
        "arguments, or leave it out for the first page",
        field="after",
    )
