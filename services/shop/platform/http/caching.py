"""How caches may keep answers over REST and GraphQL.

| answer                                                     | Cache-Control         | why                           |
|------------------------------------------------------------|-----------------------|-------------------------------|
| catalogue (`/v1/products`), GraphQL's GET of public fields | `public, max-age=60`  | the same for all callers      |
| users, orders, order lines, payments over REST             | `private, no-cache`   | personal: an entity tag tells |
|                                                            |                       | their reader what has changed |
| every other GET of GraphQL, also with errors               | `private, no-store`   | personal, without entity tags |
| answers to POST, PATCH and DELETE, streams of events       | `no-store`            | true once                     |
| sessions, problems, `/healthz`                             | `no-store`            | secret, or true for a moment  |
| `/openapi.json`, `/docs`, GraphiQL                         | `public, max-age=300` | change with a release only    |

An entity tag is strong, and derived from the body's content. A compressed body is another representation, so its tag
differs (`"…-gzip"`); both tags are recognised when a client sends them back.

A shared cache that can purge answers by key says so in `Surrogate-Capability`, and gets the keys in `Surrogate-Key`.
The keys are `product-17` for each product in the answer, and `products` if the answer is a list of products.

`Vary` names all headers on which an answer depends; GraphQL's media type depends on `Accept`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

import xxhash

from shop.errors import PreconditionFailed

Header: TypeAlias = tuple[bytes, bytes]

NO_STORE = (b"cache-control", b"no-store")

SURROGATE = "surrogate-capability"
PRODUCTS = "products"
"""Key of every list of products."""
CATALOGUE = "catalogue"
"""Key of an answer with more products than `MAX_KEYS`; every change to a product purges such an answer."""
MAX_KEYS = 50


def surrogate_keys(product_ids: Collection[int], *, listed: bool) -> tuple[str, ...]:
    """Returns the keys for an answer with these products."""
    if len(product_ids) > MAX_KEYS:
        return (CATALOGUE,)
    return (*([PRODUCTS] if listed else []), *(f"product-{id_}" for id_ in product_ids))


def surrogate_key_header(keys: Sequence[str]) -> Header:
    """Returns the header that gives a shared cache the keys of an answer."""
    return (b"surrogate-key", ",".join(keys).encode())


Policy: TypeAlias = tuple[Header, Header]
"""How one kind of answer may be cached."""


def _policy(cache_control: bytes, vary: bytes) -> Policy:
    return (b"cache-control", cache_control), (b"vary", vary)


PUBLIC = _policy(b"public, max-age=60", b"accept-encoding")
PERSONAL = _policy(b"private, no-cache", b"accept-encoding, authorization")
RELEASE = _policy(b"public, max-age=300", b"accept-encoding")
PUBLIC_QUERY = _policy(b"public, max-age=60", b"accept, accept-encoding")
PERSONAL_QUERY = _policy(b"private, no-store", b"accept, accept-encoding, authorization")
GRAPHIQL = _policy(b"public, max-age=300", b"accept")

GZIP_SUFFIX = "-gzip"

content_hash = xxhash.xxh3_128_hexdigest
"""Returns a hash of a body, in 4 µs for 182 kB (SHA-256: 127 µs); a collision deceives only its author's cache."""


def entity_tag(content: str, *, gzip: bool) -> str:
    """Returns the strong entity tag of a representation; `content` is the hash of the uncompressed body."""
    return f'"{content}{GZIP_SUFFIX}"' if gzip else f'"{content}"'


def is_not_modified(if_none_match: str, content: str) -> bool:
    """Returns whether the client already has this content (RFC 9110, 13.1.2: weak comparison)."""
    return if_none_match.strip() == "*" or any(_content(tag, weak=True) == content for tag in if_none_match.split(","))


def check_if_match(if_match: str, content: str) -> None:
    """Raises `PreconditionFailed` if the content has changed since the client read it (RFC 9110, 13.1.1: strong)."""
    if any(_content(tag, weak=False) == content for tag in if_match.split(",")):
        return
    raise PreconditionFailed(
        "If-Match does not match: the resource has changed since you read it; read it again without include and fields",
        field="If-Match",
    )


def _content(tag: str, *, weak: bool) -> str:
    tag = tag.strip()
    if weak:
        tag = tag.removeprefix("W/")
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"':
        return ""
    return tag[1:-1].removesuffix(GZIP_SUFFIX)
