"""Page tokens that clients cannot forge, bound to the call that issued them and to its filter.

A token is the base64url form of the last id of the previous page (8 bytes), and the first 12 bytes of the HMAC-SHA256
of that id with a scope. A token holds no secret, so two installations may share a key. The key only prevents clients
from building tokens that the service would have to support forever.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from typing import Protocol, TypeVar

from shop.errors import InvalidPageToken
from shop.fields import MAX_ID

# This key is not a secret: see above. SHOP_PAGE_TOKEN_KEY replaces it.
DEFAULT_KEY = b"hopwise page tokens"
_ID_BYTES = 8
_MAC_BYTES = 12
_LONGEST = 28


class ListItem(Protocol):
    """An item of a listing."""

    @property
    def id(self) -> int:
        """The item's id, by which the listing is sorted."""


T = TypeVar("T", bound=ListItem)


def encode(scope: str, after: int, *, key: bytes = DEFAULT_KEY) -> str:
    """Makes the token of the page after an id, valid only for this scope, such as "ListProducts:c0042"."""
    body = after.to_bytes(_ID_BYTES, "big")
    mac = hmac.digest(key, body + scope.encode(errors="backslashreplace"), "sha256")[:_MAC_BYTES]
    return base64.urlsafe_b64encode(body + mac).decode().rstrip("=")


def decode(token: str, scope: str, *, key: bytes = DEFAULT_KEY) -> int:
    """Returns the last id of the page before; 0 without a token. Raises `InvalidPageToken` if the scope is another."""
    if not token:
        return 0
    after = int.from_bytes(_raw(token)[:_ID_BYTES], "big")
    # Compared as text, since base64 has several texts for the same bytes.
    is_signed = hmac.compare_digest(encode(scope, after, key=key).encode(), token.encode(errors="backslashreplace"))
    # The default key is public, so anybody can sign an id that is too large for the database.
    if not is_signed or after > MAX_ID:
        raise InvalidPageToken(
            "page_token must be the next_page_token of the page before, with the same filter", field="page_token"
        )
    return after


def cut(items: Sequence[T], size: int, scope: str, *, key: bytes = DEFAULT_KEY) -> tuple[tuple[T, ...], str]:
    """Returns the first page of a listing, and the token of the next page; empty after the last page.

    The listing starts where the page does, and has up to one item more.
    """
    page = tuple(items[:size])
    return page, encode(scope, page[-1].id, key=key) if len(items) > size else ""


def _raw(token: str) -> bytes:
    if len(token) > _LONGEST or not token.isascii():
        return b""
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return b""
