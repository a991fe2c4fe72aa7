"""The record of the calls to the services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a port: its method, and when it began and ended, on a clock that counts starts and ends of calls."""

    method: str
    started: int
    ended: int

    def overlaps(self, other: Call) -> bool:
        return self.started < other.ended and other.started < self.ended


@dataclass(slots=True)
class Record:
    """The calls made so far. Each call first awaits `on_call` with the method's name, which may wait or raise, like a
    slow or broken service."""

    on_call: Callable[[str], Awaitable[None]] | None = None
    calls: list[Call] = field(default_factory=list)
    _moments: int = 0

    def fail(self, error: Exception, method: str = "") -> None:
        """Makes calls fail from now on: of one method, or all."""

        async def raise_error(called: str) -> None:
            if method in ("", called):
                raise error

        self.on_call = raise_error

    async def note(self, method: str) -> None:
        """Records one call of the method, after the hook has let it through."""
        started = self._moment()
        try:
            if self.on_call is not None:
                await self.on_call(method)
        finally:
            self.calls.append(Call(method, started, self._moment()))

    @property
    def methods(self) -> list[str]:
        """The methods called so far, in the order in which they ended."""
        return [call.method for call in self.calls]

    def _moment(self) -> int:
        self._moments += 1
        return self._moments
