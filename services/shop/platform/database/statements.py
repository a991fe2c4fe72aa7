"""Named statements, and connections that record each as a CLIENT span and limit it to the caller's deadline.

opentelemetry-instrumentation-asyncpg is not used: it also builds attributes for requests that are not traced. It uses
old attribute names (`db.system`, `db.statement`), names spans after the first word of the statement, and wraps
methods that a subclass can override.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg

from shop.platform.deadline import remaining
from shop.platform.telemetry.recorder import CLIENT, Parent, shared_attributes
from shop.platform.telemetry.tracing import note, sampled_parent

T = TypeVar("T")


class Statement:
    """An SQL statement; its spans and its part of a hop budget have its name, such as "SELECT product"."""

    __slots__ = ("attributes", "name", "sql")

    def __init__(self, name: str, sql: str) -> None:
        self.name = name
        self.sql = sql
        operation = name.partition(" ")[0]
        self.attributes = shared_attributes(
            {"db.system.name": "postgresql", "db.operation.name": operation, "db.query.summary": name}
        )


@lru_cache
def unnamed(sql: str) -> Statement:
    """Returns a statement named after its first word, such as BEGIN."""
    return Statement(sql.split(maxsplit=1)[0].rstrip(";"), sql)


ENDINGS = ("COMMIT", "ROLLBACK")
END_LIMIT_S = 2.0


class TracedConnection(asyncpg.Connection):
    """A connection that traces its statements and limits each to the caller's remaining time.

    Its methods return asyncpg's own coroutines where there is nothing to trace.
    """

    def _trace(self, statement: Statement, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        parent = sampled_parent()
        return call if parent is None else _in_span(statement, parent, call)

    def get_reset_query(self) -> str:
        """Returns the query that undoes a caller's session changes: an empty one, as callers make no such changes."""
        return ""

    def execute(self, query: Statement | str, *args: Any, timeout: float | None = None) -> Coroutine[Any, Any, str]:
        statement = _statement(query)
        # A transaction whose time is up must still be ended; otherwise its connection is lost.
        limit = END_LIMIT_S if timeout is None and statement.name in ENDINGS else _limit(timeout)
        return self._trace(statement, super().execute(statement.sql, *args, timeout=limit))

    def fetch(
        self, query: Statement | str, *args: Any, timeout: float | None = None, record_class: Any = None
    ) -> Coroutine[Any, Any, list[Any]]:
        statement = _statement(query)
        call = super().fetch(statement.sql, *args, timeout=_limit(timeout), record_class=record_class)
        return self._trace(statement, call)

    def fetchval(
        self, query: Statement | str, *args: Any, column: int = 0, timeout: float | None = None
    ) -> Coroutine[Any, Any, Any]:
        statement = _statement(query)
        call = super().fetchval(statement.sql, *args, column=column, timeout=_limit(timeout))
        return self._trace(statement, call)

    def fetchrow(
        self, query: Statement | str, *args: Any, timeout: float | None = None, record_class: Any = None
    ) -> Coroutine[Any, Any, Any | None]:
        statement = _statement(query)
        call = super().fetchrow(statement.sql, *args, timeout=_limit(timeout), record_class=record_class)
        return self._trace(statement, call)


def _statement(query: Statement | str) -> Statement:
    return unnamed(query) if isinstance(query, str) else query


def _limit(timeout: float | None) -> float | None:
    return remaining() if timeout is None else timeout


async def _in_span(statement: Statement, parent: Parent, call: Coroutine[Any, Any, T]) -> T:
    # The span of a statement has no child spans, so it is never the current span.
    start, failure = time.time_ns(), None
    try:
        return await call
    except BaseException as error:
        failure = error
        raise
    finally:
        note(statement.name, CLIENT, parent, start, statement.attributes, failure)
