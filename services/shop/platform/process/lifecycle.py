"""Starts a process, waits for the signal to stop, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, NoReturn, TypeAlias

import uvloop

from shop.errors import ShopError
from shop.platform.config import ConfigError, ServiceConfig, StartError
from shop.platform.process.logs import configure_logging
from shop.platform.process.runtime import Runtime, running

log = logging.getLogger(__name__)

YOUNG_OBJECTS = 5_000
"""Number of new objects after which Python looks for cyclic garbage. Its default of 700 triggers a collection in the
middle of every large answer. Such a collection also moves objects that the answer still needs to older generations,
whose collections take longer."""

Serve: TypeAlias = Callable[[ServiceConfig, Runtime], Coroutine[Any, Any, None]]
"""A process's work: serves with the process's settings and what `launch` has set up, until the process is stopped."""
SetUp: TypeAlias = Callable[[ServiceConfig], contextlib.AbstractAsyncContextManager[Runtime]]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.asynccontextmanager
async def stop_signal() -> AsyncIterator[asyncio.Event]:
    """Turns SIGTERM and SIGINT into an event for as long as the context lasts."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


@contextlib.asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs endless work in the background for as long as the context lasts; logs at once if the work fails."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("work in the background has failed", exc_info=error)


def spare_collections() -> None:
    """Makes the garbage collector run less often, and ignore all objects that exist so far."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def leave(code: int) -> NoReturn:
    """Ends this process at once.

    `launch` has closed and flushed everything. The interpreter's own shutdown would take 0.1 or 0.2 s to free what the
    kernel frees anyway.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


async def _serve(serve: Serve, config: ServiceConfig, set_up: SetUp) -> None:
    async with set_up(config) as runtime:
        await serve(config, runtime)


def launch(
    serve: Serve, env: Mapping[str, str], *imports: Callable[[ServiceConfig], None], set_up: SetUp = running
) -> int:
    """Runs one process: reads its settings, sets up logs and traces, serves until a signal stops it.

    Returns the exit code: 0; 1 if it failed, or a dependency is not available; 2 if a setting is wrong; 130 after
    Ctrl-C before it served.

    Args:
        imports: Functions that import, before the wait for standard input, what `serve` would otherwise import later.
    """
    try:
        config = ServiceConfig.from_env(env)
        configure_logging(config)
        if config.await_stdin:
            for import_more in imports:
                import_more(config)
            sys.stdin.read()
        spare_collections()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(serve, config, set_up))
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (StartError, ShopError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # Ctrl-C before the process serves; once it serves, Ctrl-C is the usual way to stop it.
        return 128 + signal.SIGINT
    except Exception:
        # Not left to the interpreter, whose traceback would show the values that a database error quotes.
        log.exception("the process failed")
        return 1
    return 0
