"""How many passwords are being hashed."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing

import argon2
import pytest

from shop.errors import TooManyRequests
from shop.user.passwords import THREADS, Argon2Passwords

LIMIT_S = 10.0


async def test_a_hash_counts_until_its_thread_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The callers of all threads leave; a further password is refused until a thread has finished."""
    begun, may_end = threading.Semaphore(0), threading.Event()

    def hash_slowly(_: argon2.PasswordHasher, password: str) -> str:
        begun.release()
        may_end.wait(LIMIT_S)
        return f"hash of {password}"

    def await_all() -> None:
        for _ in range(THREADS):
            assert begun.acquire(timeout=LIMIT_S)

    with closing(Argon2Passwords(max_wait_s=0.0)) as passwords:
        monkeypatch.setattr(argon2.PasswordHasher, "hash", hash_slowly)
        calls = [asyncio.create_task(passwords.hash("horse")) for _ in range(THREADS)]
        try:
            await asyncio.to_thread(await_all)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            with pytest.raises(TooManyRequests):
                await passwords.hash("battery")
        finally:
            may_end.set()
        async with asyncio.timeout(LIMIT_S):
            while (later := await hash_if_free(passwords)) is None:  # noqa: ASYNC110 - nothing signals it
                await asyncio.sleep(0.001)
    assert later == "hash of staple"


async def hash_if_free(passwords: Argon2Passwords) -> str | None:
    try:
        return await passwords.hash("staple")
    except TooManyRequests:
        return None
