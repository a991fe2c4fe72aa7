"""How clients find out that an answer has not changed: entity tags and conditional requests.

Every GET carries a strong entity tag made of the body's content. A compressed body is another representation, so its
tag differs (`"…-gzip"`); both forms are recognised when they come back.
"""

from __future__ import annotations

import xxhash

from shop.errors import PreconditionFailed

GZIP_SUFFIX = "-gzip"

content_hash = xxhash.xxh3_128_hexdigest
"""Returns a hash of a body: equal bodies have equal ones, in every process.

128 bits of XXH3 take 4 µs for a page of 1,000 order lines (182 kB), SHA-256 takes 127 µs. It does not protect against
somebody who makes two bodies collide, who would deceive only his own cache.
"""


def entity_tag(content: str, *, gzip: bool) -> str:
    """Returns the strong entity tag of a representation.

    Args:
        content: The hash of the uncompressed body.
        gzip: Whether the representation is compressed.
    """
    return f'"{content}{GZIP_SUFFIX}"' if gzip else f'"{content}"'


def not_modified(if_none_match: str | None, content: str) -> bool:
    """Tells whether the client has this content already (RFC 9110, 13.1.2: weak comparison)."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or any(_content(tag, weak=True) == content for tag in if_none_match.split(","))


def check_if_match(if_match: str, content: str) -> None:
    """Checks that the content is still the one that the client read (RFC 9110, 13.1.1: strong comparison).

    Raises:
        PreconditionFailed: It is another one.
    """
    if any(_content(tag, weak=False) == content for tag in if_match.split(",")):
        return
    raise PreconditionFailed(
        "If-Match does not match: it has changed since it was read; read it again without include", field="If-Match"
    )


def _content(tag: str, *, weak: bool) -> str:
    tag = tag.strip()
    if weak:
        tag = tag.removeprefix("W/")
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"':
        return ""
    return tag[1:-1].removesuffix(GZIP_SUFFIX)
