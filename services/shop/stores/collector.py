"""Asks a store when Prometheus asks, and says whether it answered."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

log = logging.getLogger(__name__)

LIMIT_S = 2
"""How long connecting, and each answer, may take, in seconds."""
KEPT_S = 1.0
"""How long an answer is given again, in seconds: whoever asks more often costs the store nothing."""


class Store(Collector):
    """One store.

    Args:
        up: Name of the gauge that is 1 if the store answered and 0 if it did not.
        ask: Asks it, within `LIMIT_S` for each answer.
        failures: What `ask` raises if the store does not answer.
    """

    def __init__(
        self, up: str, ask: Callable[[], Sequence[Metric]], failures: type[Exception] | tuple[type[Exception], ...]
    ) -> None:
        self._up = up
        self._ask = ask
        self._failures = failures
        self._one_at_a_time = threading.Lock()
        self._answer: tuple[Sequence[Metric], float] = ((), float("-inf"))

    def describe(self) -> Iterable[Metric]:
        """Nothing: the store is not asked before somebody wants to know."""
        return []

    def collect(self) -> Iterable[Metric]:
        """What the store says now; of one that does not answer, only that."""
        with self._one_at_a_time:
            answer, asked_at = self._answer
            if time.monotonic() - asked_at > KEPT_S:
                answer = self._asked()
                self._answer = answer, time.monotonic()
        return answer

    def _asked(self) -> Sequence[Metric]:
        try:
            answer = self._ask()
        except self._failures as error:
            # Its first line only: what follows may quote the address that was tried.
            log.warning("%s is 0: %s", self._up, str(error).partition("\n")[0])
            return [self._is_up(0)]
        return [self._is_up(1), *answer]

    def _is_up(self, value: int) -> Metric:
        return GaugeMetricFamily(self._up, "Whether it answered.", value)
