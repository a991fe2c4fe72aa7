"""Answers are purged from a shared cache through the shop's connection to the cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shop.platform.http import edge_cache as module
from shop.platform.http.edge_cache import edge_cache

LIMIT_S = 10.0


class Door:
    """The cache's side of the socket: records the purges, and answers with these statuses, then 200."""

    def __init__(self, *statuses: int) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.statuses = list(statuses)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"BAN / HTTP/1.1\r\n")
                self.asked.put_nowait(head.decode().partition("Surrogate-Key: ")[2].strip())
                status = self.statuses.pop(0) if self.statuses else 200
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status)
        except EOFError:
            writer.close()

    async def next(self) -> str:
        async with asyncio.timeout(LIMIT_S):
            return await self.asked.get()


@pytest.fixture
def again_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times after which keys are sent again; none unless a test adds one."""
    times: list[float] = []
    monkeypatch.setattr(module, "AGAIN_S", times)
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    return times


@pytest.mark.usefixtures("again_s")
async def test_concurrent_changes_are_purged_together(tmp_path: Path) -> None:
    door, path = Door(), tmp_path / "ban"
    async with await asyncio.start_unix_server(door.serve, path), edge_cache(str(path)) as cache:
        cache.take_out(["product-1", "product-2"])
        cache.take_out(["product-1"])
        cache.take_out([])
        assert await door.next() == "product-1,product-2"
        cache.take_out(["product-1"])
        assert await door.next() == "product-1"


async def test_answers_under_way_are_purged_later(tmp_path: Path, again_s: list[float]) -> None:
    again_s += [0.02, 0.2]
    door, path = Door(), tmp_path / "ban"
    async with await asyncio.start_unix_server(door.serve, path), edge_cache(str(path)) as cache:
        cache.take_out(["product-1"])
        assert [await door.next() for _ in range(3)] == ["product-1"] * 3


@pytest.mark.usefixtures("again_s")
async def test_failed_purges_are_retried(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    door, path = Door(503), tmp_path / "ban"
    async with edge_cache(str(path)) as cache:
        cache.take_out(["product-1"])
        await asyncio.sleep(0.05)
        async with await asyncio.start_unix_server(door.serve, path):
            assert [await door.next() for _ in range(2)] == ["product-1"] * 2
    assert sum("does not purge" in record.message for record in caplog.records) == 1


@pytest.mark.usefixtures("again_s")
async def test_a_cache_that_does_not_answer_is_reported_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(module, "ANSWER_LIMIT_S", 0.01)
    path = tmp_path / "ban"
    async with await asyncio.start_unix_server(read_on, path), edge_cache(str(path)) as cache:
        cache.take_out(["product-1"])
        await asyncio.sleep(0.1)
    assert "the edge cache does not purge: TimeoutError" in caplog.text


async def test_without_a_cache_there_is_no_door() -> None:
    async with edge_cache(None) as cache:
        assert cache is None
