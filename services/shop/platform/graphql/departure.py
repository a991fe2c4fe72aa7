"""Ends the execution of a query whose client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Receive

from shop.errors import DeadlineExceeded
from shop.platform import deadline
from shop.platform.graphql.execution import Execution

NOTICED_AFTER_S = 0.05
"""How long an execution runs before it looks for its client, in seconds: most have ended by then."""


@contextmanager
def while_awaited(receive: Receive, execution: Execution) -> Iterator[None]:
    """Ends an execution, and the calls that it waits for, once its client has gone.

    Args:
        receive: Receives from the client, whose request has been read.
        execution: The execution inside the context.
    """
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Task[None]] = []
    timer = loop.call_later(NOTICED_AFTER_S, lambda: waiting.append(loop.create_task(_wait(receive, execution))))
    try:
        yield
    finally:
        timer.cancel()
        for task in waiting:
            task.cancel()


async def _wait(receive: Receive, execution: Execution) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    execution.stop(DeadlineExceeded("the client has gone"))
    deadline.end()
