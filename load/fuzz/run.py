"""A run of the fuzzer: sends inputs to one surface after another, counts results, and keeps failed inputs."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from fuzz.experiment_files import Harness
from fuzz.inputs import BATCH, Input, keep
from fuzz.judge import CLASSES
from fuzz.shop import Shop
from mesh.description.ports import Ports
from mesh.errors import ComponentDiedError
from mesh.paths import RunFolder

PLACES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("rest", "graphql", "edge"),
    "rest": ("rest",),
    "grpc": ("grpc", "edge"),
    "grpc-web": ("grpc-web",),
    "connect": ("connect",),
    "harness": ("harness",),
}
"""The topologies to start, and the harness, each with the surfaces to try there."""
SURFACES = tuple(dict.fromkeys(surface for tried in PLACES.values() for surface in tried))
MAX_KEPT = 3
"""Maximum number of kept inputs for failures that look the same."""


@dataclass
class Failure:
    """Inputs that failed alike: `files` has the first, and `case` the first one's place, surface, seed and number."""

    surface: str
    what: str
    case: str
    count: int = 0
    files: list[str] = field(default_factory=list)


@dataclass
class Outcome:
    """A run's results so far: `counts` by surface and class of result, and `kept`, the folder for failed inputs."""

    seed: int
    kept: Path
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return sum(counts.total() for counts in self.counts.values())

    def count_failures(self, surface: str) -> int:
        return sum(failure.count for failure in self.failures if failure.surface == surface)

    def as_dict(self) -> dict[str, Any]:
        rows = {
            name: {
                "inputs": counts.total(),
                **{kind: counts[kind] for kind in CLASSES},
                "failed": self.count_failures(name),
            }
            for name, counts in self.counts.items()
        }
        failures = [asdict(failure) for failure in self.failures]
        return {"ok": not failures, "seed": self.seed, "inputs": self.inputs, "surfaces": rows, "failures": failures}

    def fail(self, surface: str, what: str, case: str, inputs: Iterable[Input]) -> None:
        """Records a failure, and keeps its inputs unless enough of its kind are kept."""
        alike = next((one for one in self.failures if (one.surface, one.what) == (surface, what)), None)
        if alike is None:
            alike = Failure(surface, what, case)
            self.failures.append(alike)
        alike.count += 1
        if alike.count > MAX_KEPT:
            return
        for number, one in enumerate(inputs):
            file = self.kept / f"{case.replace('/', '-')}{f'-{number}' if number else ''}.json"
            keep(one, file, place=case.partition("/")[0], surface=surface, what=what)
            alike.files.append(str(file))


@dataclass(frozen=True)
class Budget:
    """The maximum length of a run, and of the number of inputs to each surface of each place; None for no limit."""

    seconds: float | None = None
    inputs: int | None = None


def fuzz(
    outcome: Outcome,
    budget: Budget,
    ports: Ports,
    folder: RunFolder,
    progress: Callable[[str], None],
    surfaces: Sequence[str] = SURFACES,
    places: Sequence[str] = tuple(PLACES),
) -> None:
    """Tries surfaces one after another, each for the same share of the time, and fills in the outcome.

    The outcome is consistent at any time, even if the run is interrupted. A batch that has started is finished.
    """
    ends = None if budget.seconds is None else time.monotonic() + budget.seconds
    chosen = {place: [surface for surface in PLACES[place] if surface in surfaces] for place in places}
    left = sum(map(len, chosen.values()))
    shutil.rmtree(outcome.kept, ignore_errors=True)
    for name, tried in chosen.items():
        if not tried:
            continue
        progress(f"starting {name}")
        with open_place(name, ports, folder) as place:
            try:
                for surface in tried:
                    until = None if ends is None else time.monotonic() + (ends - time.monotonic()) / left
                    left -= 1
                    _try(outcome, place, f"{name}/{surface}/{outcome.seed}", until, budget.inputs, progress)
            except ComponentDiedError:
                continue  # the failure is recorded, and the place has ended
            finally:
                for what, line in place.faults().items():
                    outcome.fail(tried[0], what, f"{name}/log/{outcome.seed}", [Input("log", line.encode())])


def open_place(name: str, ports: Ports, folder: RunFolder) -> Shop | Harness:
    """Makes a place of `PLACES`, to use in a `with` statement."""
    return Harness(folder.path / "fuzz-files") if name == "harness" else Shop(name, ports, folder)


def _try(
    outcome: Outcome,
    place: Shop | Harness,
    case: str,
    until: float | None,
    most: int | None,
    progress: Callable[[str], None],
) -> None:
    surface = case.split("/")[1]
    counts = outcome.counts.setdefault(surface, Counter())
    inputs, number = place.inputs(surface, case), 0
    while (until is None or time.monotonic() < until or not number) and (most is None or number < most):
        batch = list(islice(inputs, BATCH))
        for one, (kind, wrong, _) in zip(batch, place.try_inputs(surface, batch), strict=True):
            number += 1
            counts[kind] += 1
            if wrong:
                outcome.fail(surface, wrong, f"{case}/{number}", [one])
        progress(
            f"{case.rpartition('/')[0]}: {outcome.inputs:,} inputs, {sum(one.count for one in outcome.failures)} failed"
        )
        try:
            wrong = place.wrong()
        except ComponentDiedError as error:
            outcome.fail(surface, f"{error.component} died", f"{case}/{number}", batch)
            raise
        if wrong:
            outcome.fail(surface, f"afterwards: {wrong}", f"{case}/{number}", batch)
