"""Rows in the cache, by their ids: reads go through the cache, and every change to a row removes its entry.

A reader that finds no entry stores a lease, reads the row from the database, and replaces the lease with the entry if
the lease is still there. A change to the row removes the entry, or the lease, after the commit. So a row that was read
before a commit is not stored after it (Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013, section 3.2.1).

An entry expires no later than `bound_ms` after its row was read, by the server's own clock, because a lease expires
before its row could be stored too late. This is true even if a removal does not reach the server.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:  # a service without a cache need not load the cache's client
    from shop.platform.cache.connections import CacheConnections


class CachedRow(Protocol):
    """A row that an entry holds: a type that msgspec encodes."""

    @property
    def id(self) -> int:
        """Id of the row."""


T = TypeVar("T", bound=CachedRow)

LEASE_MS = 500
"""How long a reader may take to read a row, and how much sooner the row's entry expires, in ms."""

# A server without free memory still answers with the entries that it has, but gives no leases.
TAKE = """local found = {}
for i, key in ipairs(KEYS) do
  found[i] = redis.call('GET', key)
  if not found[i] then redis.pcall('SET', key, ARGV[1], 'PX', ARGV[2]) end
end
return found"""
STORE = """for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.pcall('SET', key, ARGV[i + 2], 'PX', ARGV[2]) end
end
return 1"""


class Entries(Generic[T]):
    """The entries of one kind.

    Args:
        form: Type of a row; types with other fields have other keys.
        namespace: First part of every key, which separates this run from other runs on the same server.
        bound_ms: How long an entry may outlast a change to its row, in ms.
    """

    def __init__(self, cache: CacheConnections, form: type[T], *, namespace: str, bound_ms: int) -> None:
        self._cache = cache
        self._kind = form.__name__.lower()
        fields = hashlib.sha256(msgspec.json.encode(msgspec.json.schema(form))).hexdigest()[:8]
        self._prefix = f"{namespace}:{self._kind}:{fields}:"
        self._life_ms = bound_ms - LEASE_MS
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder = msgspec.msgpack.Decoder(form)

    async def read(self, ids: Sequence[int], load: Callable[[Sequence[int]], Awaitable[Collection[T]]]) -> list[T]:
        """Returns the rows that exist, in any order."""
        keys = list(map(self._key, ids))
        lease = b"?" + os.urandom(8)
        values = await self._cache.ask("GET", self._kind, "EVAL", TAKE, len(keys), *keys, lease, LEASE_MS)
        # An answer in another form counts as no answer.
        entries = values if isinstance(values, list) and len(values) == len(keys) else [b""] * len(keys)
        rows = [row for id_, value in zip(ids, entries, strict=True) if value and (row := self._row(id_, value))]
        self._cache.note(len(ids), len(rows), 0)
        if len(rows) == len(ids):
            return rows
        present = {row.id for row in rows}
        loaded = await load([id_ for id_ in ids if id_ not in present])
        leased = {id_ for id_, value in zip(ids, entries, strict=True) if value is None}
        new = [row for row in loaded if row.id in leased]
        if new:
            keys = [self._key(row.id) for row in new]
            encoded = map(self._encode, new)
            await self._cache.ask("SET", self._kind, "EVAL", STORE, len(keys), *keys, lease, self._life_ms, *encoded)
        return [*rows, *loaded]

    async def remove(self, ids: Collection[int]) -> None:
        """Removes the entries of changed rows; call it once the change is committed."""
        if ids:
            await self._cache.remove(self._kind, [self._key(id_) for id_ in sorted(ids)])

    def _key(self, id_: int) -> str:
        return f"{self._prefix}{id_}"

    def _row(self, id_: int, value: bytes) -> T | None:
        """Returns the row of an entry; None if the value is a lease, or garbage."""
        try:
            row = self._decoder.decode(value)
        except msgspec.MsgspecError:
            return None
        return row if row.id == id_ else None
