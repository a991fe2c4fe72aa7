"""Decides when to retry a call to an unavailable peer: never more often than a peer in trouble can bear.

A peer is unavailable if it gives no answer, or answers with `Unavailable`. The rule is gRPC's own (gRFC A6,
"Throttling Retry Attempts and Hedged RPCs"), so that peers of all protocols are treated alike. A failure takes a token,
an answer gives back a share of a token, and nothing is retried unless more than half of the tokens are left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from shop.errors import Unavailable
from shop.platform.deadline import remaining

T = TypeVar("T")

MAX_TOKENS, TOKENS_PER_ANSWER = 100, 0.1
"""Tokens: enough for all calls in flight to a dying replica. In the long run, one call in ten may be a retry."""
PAUSES_S = (0.05, 0.1)
"""Pauses between attempts at a read when the service is briefly unavailable; gRPC, too, doubles the first pause."""


class Retries:
    """Retries for all calls to one peer; the calls share their tokens."""

    def __init__(self) -> None:
        self._tokens = float(MAX_TOKENS)

    async def run(self, once: Callable[[], Awaitable[T]], *, again: bool) -> T:
        """Makes a call, and retries it while the peer is unavailable; raises `Unavailable` if the peer remains so."""
        pauses = iter(PAUSES_S if again else ())
        while True:
            try:
                answer = await once()
            except Unavailable:
                self._tokens = max(self._tokens - 1, 0.0)
                pause = next(pauses, None)
                if pause is None or self._tokens <= MAX_TOKENS / 2:
                    raise
                await asyncio.sleep(min(pause, remaining() or pause))
            else:
                self._tokens = min(self._tokens + TOKENS_PER_ANSWER, MAX_TOKENS)
                return answer


def grpc_retries(service: str, reads: Sequence[str]) -> dict[str, Any]:
    """Returns the same rule as part of gRPC's service config."""
    policy = {
        "maxAttempts": 1 + len(PAUSES_S),
        "initialBackoff": f"{PAUSES_S[0]}s",
        "maxBackoff": "0.4s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    names = [{"service": service, "method": method} for method in reads]
    return {
        "methodConfig": [{"name": names, "retryPolicy": policy}],
        "retryThrottling": {"maxTokens": MAX_TOKENS, "tokenRatio": TOKENS_PER_ANSWER},
    }
