"""Who may keep an answer for how long, over REST and GraphQL.

| answer                                                     | Cache-Control         | why                           |
|------------------------------------------------------------|-----------------------|-------------------------------|
| catalogue (`/v1/products`), GraphQL's GET of public fields | `public, max-age=60`  | the same for all callers      |
| users, orders, order lines, payments over REST             | `private, no-cache`   | personal: an entity tag tells |
|                                                            |                       | their reader what has changed |
| every other GET of GraphQL, also with errors               | `private, no-store`   | personal, without entity tags |
| answers to POST, PATCH and DELETE, streams of events       | `no-store`            | true once                     |
| sessions, problems, `/healthz`                             | `no-store`            | secret, or true for a moment  |
| `/openapi.json`, `/docs`, GraphiQL                         | `public, max-age=300` | change with a release only    |

`Vary` names all headers on which an answer depends; GraphQL's media type depends on `Accept`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Header: TypeAlias = tuple[bytes, bytes]

NO_STORE = (b"cache-control", b"no-store")


class Policy(NamedTuple):
    """How one kind of answer may be cached.

    Attributes:
        cache_control: The Cache-Control header.
        vary: The request headers on which the answer depends.
    """

    cache_control: Header
    vary: Header


def _policy(cache_control: bytes, vary: bytes) -> Policy:
    return Policy((b"cache-control", cache_control), (b"vary", vary))


PUBLIC = _policy(b"public, max-age=60", b"accept-encoding")
PERSONAL = _policy(b"private, no-cache", b"accept-encoding, authorization")
RELEASE = _policy(b"public, max-age=300", b"accept-encoding")
PUBLIC_QUERY = _policy(b"public, max-age=60", b"accept, accept-encoding")
PERSONAL_QUERY = _policy(b"private, no-store", b"accept, accept-encoding, authorization")
GRAPHIQL = _policy(b"public, max-age=300", b"accept")
