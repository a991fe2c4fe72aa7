"""Starts a process, waits for the signal to stop, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

import uvloop

from shop.errors import ShopError
from shop.platform.config import ServiceConfig
from shop.platform.errors import ConfigError, StartError
from shop.platform.injected_delay import injected_delay
from shop.platform.logs import configure_logging
from shop.platform.telemetry import telemetry

log = logging.getLogger(__name__)

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


def run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine to its end on uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def launch(serve: Callable[[ServiceConfig], Coroutine[Any, Any, None]], env: Mapping[str, str]) -> int:
    """Runs one process: reads its settings, sets up logs and traces, serves until it is told to stop.

    Args:
        serve: The process itself.
        env: The environment that the settings come from.

    Returns:
        The exit code: 0; 1 if it failed, or something that it needs is not available; 2 if a setting is wrong; 130
        after Ctrl-C before it served.
    """
    try:
        config = ServiceConfig.from_env(env)
        configure_logging(config)
        with telemetry(config), injected_delay(config.delay_us):
            run(serve(config))
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (StartError, ShopError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # Ctrl-C before the process serves; afterwards it is the usual way to stop.
        return 128 + signal.SIGINT
    except Exception:
        # Not left to the interpreter, whose traceback would quote what an error of the database quotes.
        log.exception("the process failed")
        return 1
    return 0
