"""A PostgreSQL connection whose every statement is one CLIENT span and keeps the caller's deadline.

opentelemetry-instrumentation-asyncpg is not used: it builds its attributes for every statement of requests that are
not traced too, knows the old attribute names (`db.system`, `db.statement`) only, names spans by their first word,
and needs wrapt around methods that asyncpg lets a subclass override.
"""

from __future__ import annotations

import re
import time
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg

from shop.instrument.tracing import CLIENT, Parent, SharedAttributes, shared
from shop.platform.deadline import remaining
from shop.platform.telemetry.tracing import note, sampled_parent

T = TypeVar("T")

_FIRST_WORD = re.compile(r"[A-Z]+")
_SELECT = re.compile(r"\bSELECT\b")
_CHANGE = re.compile(r"\b(INSERT INTO|DELETE FROM|(?<!FOR )(?<!DO )UPDATE)\s+([a-z_][a-z0-9_.]*)")
# What follows FROM is a table unless it is called as a function.
_READ = re.compile(r"\bFROM\s+([a-z_][a-z0-9_.]*)\b(?!\s*\()")
_INNERMOST = re.compile(r"\([^()]*\)")


def statement_attributes(query: str) -> dict[str, str]:
    """Returns the span attributes of a statement: its operation and its table, never a value.

    Args:
        query: The text with placeholders; key words in capitals.
    """
    operation, table = _named_after(query)
    summary = f"{operation} {table}" if table else operation
    return {"db.system.name": "postgresql", "db.operation.name": operation, "db.query.summary": summary}


def _named_after(query: str) -> tuple[str, str]:
    """Returns operation and table: of the outermost change in a statement that changes rows, else of what it reads."""
    first = _FIRST_WORD.search(query)
    operation = first[0] if first else "QUERY"
    if operation in ("WITH", "INSERT", "UPDATE", "DELETE"):
        outer = query
        while (shorter := _INNERMOST.sub("", outer)) != outer:
            outer = shorter
        change = _CHANGE.search(outer) or _CHANGE.search(query)
        if change is not None:
            return change[1].partition(" ")[0], change[2]
        operation = "SELECT" if _SELECT.search(query) else operation
    table = _READ.search(query)
    return operation, table[1] if table else ""


ENDINGS = ("COMMIT", "ROLLBACK")
END_LIMIT_S = 2.0


class TracedConnection(asyncpg.Connection):
    """A connection that traces its statements and limits each to the time that the caller still has.

    Its methods return asyncpg's own coroutines where there is nothing to trace.
    """

    def _trace(self, query: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        parent = sampled_parent()
        return call if parent is None else _in_span(query, parent, call)

    def get_reset_query(self) -> str:
        """Returns what undoes a caller's changes of the session: nothing, as no caller makes any."""
        return ""

    def execute(self, query: str, *args: Any, timeout: float | None = None) -> Coroutine[Any, Any, str]:
        """Runs a statement; returns its status."""
        # A transaction whose time is over must still be ended, or its connection is lost.
        limit = END_LIMIT_S if timeout is None and query.startswith(ENDINGS) else _limit(timeout)
        call = super().execute(query, *args, timeout=limit)
        return self._trace(query, call)

    def fetch(
        self, query: str, *args: Any, timeout: float | None = None, record_class: Any = None
    ) -> Coroutine[Any, Any, Any]:
        """Runs a statement; returns its rows."""
        call = super().fetch(query, *args, timeout=_limit(timeout), record_class=record_class)
        return self._trace(query, call)

    def fetchval(
        self, query: str, *args: Any, column: int = 0, timeout: float | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Runs a statement; returns one value of its first row, or None."""
        call = super().fetchval(query, *args, column=column, timeout=_limit(timeout))
        return self._trace(query, call)

    def fetchrow(
        self, query: str, *args: Any, timeout: float | None = None, record_class: Any = None
    ) -> Coroutine[Any, Any, Any]:
        """Runs a statement; returns its first row, or None."""
        call = super().fetchrow(query, *args, timeout=_limit(timeout), record_class=record_class)
        return self._trace(query, call)


def _limit(timeout: float | None) -> float | None:
    return remaining() if timeout is None else timeout


async def _in_span(query: str, parent: Parent, call: Coroutine[Any, Any, T]) -> T:
    start = time.time_ns()
    try:
        answer = await call
    except BaseException as error:
        note_statement(query, parent, start, error)
        raise
    note_statement(query, parent, start)
    return answer


def note_statement(query: str, parent: Parent, start: int, error: BaseException | None = None) -> None:
    """Records the span of a statement that ends now. Nothing else happens below one, so it is never the current span.

    Args:
        query: The text with placeholders.
        parent: The span above it.
        start: When it started, in ns since the epoch.
        error: What ended it early.
    """
    name, attributes = noted(query)
    note(name, CLIENT, parent, start, attributes, error)


@lru_cache(maxsize=1024)
def noted(query: str) -> tuple[str, SharedAttributes]:
    """Returns the name of a statement, and the attributes of its span."""
    attributes = statement_attributes(query)
    return attributes["db.query.summary"], shared(attributes)
