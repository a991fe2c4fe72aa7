"""Customers who use a shop in a separate thread, while the main thread owns the shop and injects faults into it."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

from experiment.commands.options import end, in_ci
from experiment.trial.resources import OtherWork
from hops.elements.element import Element, Points, Text
from hops.run.documents.gate import NOISY, VALID, WRONG, Verdict
from mesh.native.system import System
from mesh.resting import pids_of
from proofs.outcome import Progress, show

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


def start(work: Work) -> Future[None]:
    """Lets customers use a shop in a separate thread; the future gets the error that ends their work."""
    crowd: Future[None] = Future()

    def run() -> None:
        try:
            crowd.set_result(asyncio.run(work()))
        except BaseException as error:  # handed to the main thread
            crowd.set_exception(error)

    threading.Thread(target=run, name="customers", daemon=True).start()
    return crowd


def have_finished(crowd: Future[None], limit_s: float) -> bool:
    """Waits until the customers have finished, for a limited time, and raises the error that ended their work."""
    if not wait([crowd], limit_s).done:
        return False
    crowd.result()
    return True


def strike(
    work: Work, strikes: Iterable[None], progress: Progress, *, limit_s: float, stop: Callable[[], None] = lambda: None
) -> bool:
    """Injects a fault before each yield of `strikes`, while customers use a shop; returns whether they have finished.

    Call it from the thread that started the shop. After the last fault, `stop` asks the customers to finish, and
    `limit_s` is the maximum wait for them.
    """
    gc.freeze()  # so that garbage collection of imported objects does not pause the customers
    crowd = start(work)
    try:
        for number, _ in enumerate(strikes, 1):
            progress(number)
    finally:
        stop()
    return have_finished(crowd, limit_s)


@dataclass(kw_only=True)
class Outcome(ABC):
    """What customers observed; each proof extends this class. Other programs used `other_cores` cores meanwhile."""

    HELD: ClassVar[str]
    NOT_SHOWN: ClassVar[str]
    wall_s: float = 0.0
    other_cores: float = 0.0

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """The verdict of `audit_verdict`."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Formats the outcome for people."""

    def tables(self) -> list[Element]:
        return []

    @contextmanager
    def measure(self, shop: System) -> Iterator[None]:
        """Measures the duration of the context, and the cores that other programs use in the meantime."""
        began, others = time.monotonic(), OtherWork(lambda: pids_of(shop))
        yield
        self.wall_s, self.other_cores = time.monotonic() - began, others.cores

    def give(self, *, as_json: bool) -> None:
        """Prints the outcome, and exits with 3 if it is WRONG, or NOISY in CI."""
        verdicts = {VALID: self.HELD, NOISY: f"NOT SHOWN: {self.NOT_SHOWN}", WRONG: "The proof FAILED."}
        elements = [Points(self.sentences()), *self.tables(), Text(verdicts[self.verdict], tone="verdict")]
        show({"verdict": self.verdict, **asdict(self)}, elements, as_json=as_json)
        end(self.verdict, strict=in_ci())


def first_missed(acknowledged_s: Sequence[float], seen: int, began_s: float) -> float | None:
    """Returns when the first change that a read missed was acknowledged; None if the read missed no change.

    `acknowledged_s` has the changes in their order, and the read shows the first `seen` of them.
    """
    following = acknowledged_s[seen : seen + 1]
    return following[0] if following and following[0] < began_s else None
