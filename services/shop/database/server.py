"""Waits for a server that is still starting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

T = TypeVar("T")
PAUSE_S = 0.5


def until_it_answers(limit_s: float, ask: Callable[[], T]) -> T:
    """Does something that needs the server, and does it again as long as the server does not answer.

    Args:
        limit_s: How long to begin again, in seconds; 0 for once.
        ask: What to do; it must be safe to repeat.

    Raises:
        psycopg.OperationalError: The server did not answer in time.
    """
    silent = retry_if_exception_type(psycopg.OperationalError)
    return Retrying(retry=silent, stop=stop_after_delay(limit_s), wait=wait_fixed(PAUSE_S), reraise=True)(ask)
