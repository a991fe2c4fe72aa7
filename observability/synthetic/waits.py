"""Synthetic traces with their true budget: first it is decided what each caller waits for, then spans are drawn.

Spans never say why a caller continued. A call that had ended when the next began looks like a call of a fan-out if its
span was closed late. A job that nobody waited for looks like a call if it ends soon after the answer. A rule for
overlapping siblings must decide between these cases:

- *in turn*: calls in sequence, each awaited;
- *fan-out*: calls started in sequence without waiting, then all awaited;
- *chains side by side*: a fan-out of chains, each with one to three calls in turn, as GraphQL resolvers make them;
- *job*: calls in turn, and a parallel span that continues after the answer.

Spans close late, including those of callees. Each trace has a lateness from 10 µs to 1 ms, and each span a delay around
it. Calls take 0.5 to 10 ms, work between them 20 to 500 µs, and starting a call of a fan-out 10 to 300 µs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hops.traces.span import Kind, Span
from synthetic.traces import BASE_NS

CALLER = "order"
_MICROSECOND = 1_000


@dataclass(frozen=True, slots=True)
class KnownTrace:
    """One trace, whose first span is the root, a SERVER span, and the truth about it: ns of real waiting by part."""

    spans: Sequence[Span]
    budget: Mapping[str, int]


@dataclass(slots=True)
class _Call:
    start_ns: int
    server_ns: int
    answered_ns: int
    end_ns: int
    callee: str


class _Scene:
    """One caller: its clock advances as it works and waits, and it records where the time went."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.late_ns = _between(rng, 10, 1_000)
        self.call_ns = _between(rng, 500, 10_000)
        self.work_ns = _between(rng, 20, 500)
        self.step_ns = _between(rng, 10, 300)
        self.now_ns = BASE_NS
        self.budget: dict[str, int] = {}
        self._trace_id = f"{rng.getrandbits(128) | 1:032x}"
        self._root_id = f"{1:016x}"
        self._spans: list[Span] = []

    def draw(self, typical_ns: float) -> int:
        return 1 + int(self.rng.expovariate(1 / typical_ns))

    def work(self, ns: int) -> None:
        self._spend(f"work:{CALLER}", ns)

    def call(self, start_ns: int) -> _Call:
        """Draws a call that starts at this moment, with its spans; nobody waits for it yet."""
        length = int(self.call_ns * self.rng.lognormvariate(0, 0.6))
        out, back = (1 + int(length * self.rng.uniform(0.02, 0.15)) for _ in range(2))
        callee = self.rng.choice(("product", "user", "payment"))
        one = _Call(start_ns, start_ns + out, start_ns + out + length, start_ns + out + length + back, callee)
        client = self._draw(Kind.CLIENT, CALLER, self._root_id, start_ns, one.end_ns + self.draw(self.late_ns))
        self._draw(Kind.SERVER, callee, client, one.server_ns, one.answered_ns + self.draw(self.late_ns))
        return one

    def wait(self, one: _Call) -> None:
        """Advances the clock to the end of a call that is awaited from its start."""
        self._spend(f"wire:{CALLER}→{one.callee}", one.server_ns - one.start_ns)
        self._spend(f"work:{one.callee}", one.answered_ns - one.server_ns)
        self._spend(f"wire:{CALLER}→{one.callee}", one.end_ns - one.answered_ns)

    def in_turn(self, calls: int) -> None:
        for _ in range(calls):
            self.wait(self.call(self.now_ns))
            self.work(self.draw(self.work_ns))

    def side_by_side(self, chains: int, longest: int) -> None:
        """Makes parallel chains of calls: the caller starts each in turn, then waits for the last chain to end."""
        started: list[list[_Call]] = []
        at = self.now_ns
        for _ in range(chains):
            chain = [self.call(at)]
            for _ in range(self.rng.randint(1, longest) - 1):
                chain.append(self.call(chain[-1].end_ns + self.draw(self.step_ns)))
            started.append(chain)
            at += self.draw(self.step_ns)
        for one in max(started, key=lambda chain: chain[-1].end_ns):
            self.work(one.start_ns - self.now_ns)
            self.wait(one)
        self.work(self.draw(self.work_ns))

    def job(self, start_ns: int) -> None:
        outlives_ns = self.draw((self.now_ns - BASE_NS) / 2)
        self._draw(Kind.INTERNAL, CALLER, self._root_id, start_ns, self.now_ns + outlives_ns)

    def to_trace(self) -> KnownTrace:
        root = Span(self._trace_id, self._root_id, "", "Checkout", Kind.SERVER, CALLER, BASE_NS, self.now_ns)
        return KnownTrace([root, *self._spans], self.budget)

    def _spend(self, part: str, ns: int) -> None:
        self.now_ns += ns
        self.budget[part] = self.budget.get(part, 0) + ns

    def _draw(self, kind: Kind, service: str, parent_id: str, start_ns: int, end_ns: int) -> str:
        span_id = f"{len(self._spans) + 2:016x}"
        self._spans.append(Span(self._trace_id, span_id, parent_id, "call", kind, service, start_ns, end_ns))
        return span_id


def _job(scene: _Scene) -> None:
    scene.in_turn(scene.rng.randint(2, 6))
    scene.job(BASE_NS + int((scene.now_ns - BASE_NS) * scene.rng.random()))


CAUSES: Mapping[str, Callable[[_Scene], None]] = {
    "in turn": lambda scene: scene.in_turn(scene.rng.randint(2, 6)),
    "fan-out": lambda scene: scene.side_by_side(scene.rng.randint(2, 8), 1),
    "chains side by side": lambda scene: scene.side_by_side(scene.rng.randint(2, 4), 3),
    "job": _job,
}


def known_trace(cause: str, seed: int, number: int) -> KnownTrace:
    """Makes one trace of one of `CAUSES`; the same seed and number give the same trace."""
    scene = _Scene(random.Random(f"{cause} {seed} {number}"))
    scene.work(scene.draw(scene.work_ns))
    CAUSES[cause](scene)
    return scene.to_trace()


def _between(rng: random.Random, low_us: float, high_us: float) -> float:
    return math.exp(rng.uniform(math.log(low_us), math.log(high_us))) * _MICROSECOND
