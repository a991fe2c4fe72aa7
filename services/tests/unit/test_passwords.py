"""How many passwords are being hashed, and how many logins wait for each other."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing

import argon2
import pytest

from memory_stores.user import MemoryUserStore
from shop.errors import TooManyRequests, Unauthenticated
from shop.platform.access.jwt import TokenSigner
from shop.user.passwords import THREADS, Argon2Passwords
from shop.user.service import MAX_FAILED_LOGINS, UserService
from shop.values.user import LoginResult

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


class _WrongPasswords:
    """Finds every password wrong, once it may answer."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def hash(self, password: str) -> str:
        return password

    async def verify(self, password_hash: str | None, password: str) -> bool:
        await self.may_answer.wait()
        return password == password_hash


async def test_few_logins_with_one_e_mail_address_wait_for_each_other(signer: TokenSigner) -> None:
    """Every waiting login occupies a connection from the edge, which other clients need."""
    passwords = _WrongPasswords()
    service = UserService(MemoryUserStore(), passwords, signer)

    def log_in(name: str = "ada") -> asyncio.Task[LoginResult]:
        return asyncio.create_task(service.login(f"{name}@example.com", "battery staple"))

    waiting = [log_in() for _ in range(MAX_FAILED_LOGINS)]
    await asyncio.sleep(0)
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(TooManyRequests) as refusal:
            await log_in()
    assert refusal.value.retry_after_s == 1
    abandoned = waiting.pop()
    abandoned.cancel()
    await asyncio.wait([abandoned])
    waiting += [log_in(), log_in("bob")]
    passwords.may_answer.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unauthenticated}
