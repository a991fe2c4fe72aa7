"""Endless work in the background: failures do not end it, or they are logged at once."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from shop.errors import Unavailable
from shop.order import backlog
from shop.order.backlog import Backlog
from shop.platform.database import listening
from shop.platform.database.listening import listening_to
from shop.platform.process.lifecycle import in_background
from shop.platform.telemetry.meters import Meters

LIMIT_S = 5.0


class Failing:
    """Fails whenever it is called."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._calls = 0
        self._called_again = asyncio.Event()

    async def fetch(self, *_: Any, **__: Any) -> Any:
        self._calls += 1
        if self._calls == 2:
            self._called_again.set()
        raise self._error

    async def wait_for_another_call(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            await self._called_again.wait()


@pytest.mark.parametrize("error", [OSError(), asyncpg.InterfaceError(""), asyncpg.InternalClientError()])
async def test_a_listener_connects_again_after_a_failure(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    server = Failing(error)
    monkeypatch.setattr(asyncpg, "connect", server.fetch)
    monkeypatch.setattr(listening, "AGAIN_S", 0.0)
    async with listening_to("channel", "postgresql://nowhere", lambda _: None):
        await server.wait_for_another_call()


@pytest.mark.parametrize("error", [Unavailable("the database does not answer"), RuntimeError("a defect")])
async def test_the_backlog_is_read_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    database = Failing(error)
    monkeypatch.setattr(backlog, "LOOK_S", 0.0)
    async with in_background(Backlog(database, Meters()).run()):
        await database.wait_for_another_call()
    assert str(error) in caplog.text


async def test_a_failure_is_logged_before_the_process_ends(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("a defect")

    async def read_log() -> None:
        async with in_background(fail()):
            await asyncio.sleep(0.01)
            logged.append(caplog.text)

    logged: list[str] = []
    with pytest.raises(RuntimeError, match="a defect"):
        await read_log()
    assert "a defect" in logged[0]
