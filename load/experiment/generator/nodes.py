"""Several generators that replay the shards of a tape; their merged results are like the results of one generator.

Each load node runs `shopload node`, which reports its progress through files in a folder. An implementation of `Node`
knows where the node is and how to reach those files; `ShardedReplay` takes all nodes through the steps of a replay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from experiment.errors import GeneratorError, UsageError
from experiment.generator.shopload import GRACE_S, Load, Shopload

READY, START, DONE, TAKEN = "ready.json", "start", "done.json", "taken"
"""Files in a node's folder, as `shopload node --help` describes them."""
RESULTS = ("journeys.jsonl", "vegeta.gob", "generator.json")
"""Files that a node's replay writes."""

T = TypeVar("T")


class Node(Protocol):
    """A place where `shopload node` runs, with the arguments that `node_arguments` returns."""

    @property
    def name(self) -> str:
        """Name of the node in messages."""

    def read(self, file: str) -> str | None:
        """Returns the text of a file in the node's folder; None while the file does not exist."""

    def write(self, file: str, text: str) -> None:
        """Writes a file into the node's folder."""

    def clock_ns(self) -> int:
        """Returns the node's Unix time in nanoseconds, never ahead of the node's clock."""

    def fetch(self, files: Sequence[str], folder: Path) -> None:
        """Copies files from the node's folder to an existing folder on this machine."""

    def check(self) -> None:
        """Checks that the node still runs.

        Raises:
            MeshError: The node has ended or cannot be reached; the message says why.
        """


def node_arguments(
    load: Load, *, tape: PurePath, target: PurePath, out: PurePath, shard: int | str, shards: int, trace: float
) -> list[str]:
    """Returns the arguments of the generator on a load node.

    Args:
        tape: Path of the load's tape on the node, which may be compressed with gzip.
        shard: Number of the node's shard, from 0; or an expression for it, such as `$(JOB_COMPLETION_INDEX)`.
        trace: Share of journeys to trace, from 0 to 1.

    Raises:
        UsageError: The load is a closed loop, which cannot be split into shards.
    """
    if load.closed is not None:
        raise UsageError("vus needs one load generator: a closed loop has no arrival times by which to split a tape")
    arguments = ["node", "--tape", str(tape), "--target", str(target), "--out", str(out)]
    arguments += ["--shard", f"{shard}/{shards}", "--trace", f"{trace:g}"]
    if load.connections:
        arguments += ["--connections", str(load.connections)]
    return arguments


@dataclass(frozen=True, slots=True)
class ShardedReplay:
    """A replay by several load nodes; call `get_ready`, `send` and `collect` in this order.

    Attributes:
        ready_s: Seconds that a node may take to get ready.
        start_ahead_s: Seconds from when all nodes are ready until they start; each must get the start time before then.
        poll_s: Seconds between two polls of the nodes.
        calm_s: Seconds before the start in which the nodes get no requests, so that they have no other work.
    """

    nodes: Sequence[Node]
    load: Load
    shopload: Shopload
    ready_s: float = 60.0
    start_ahead_s: float = 5.0
    poll_s: float = 0.5
    calm_s: float = 1.0

    def get_ready(self) -> None:
        """Waits until every node is ready to begin.

        Raises:
            GeneratorError: A node could not get ready, or has the wrong shard or tape.
            MeshError: A node has ended.
        """
        ready = self._await(READY, self.ready_s)
        for index, (node, says) in enumerate(zip(self.nodes, ready, strict=True)):
            shard = f"{index}/{len(self.nodes)}"
            if says["shard"] != shard:
                raise GeneratorError(f"load node {node.name} has shard {says['shard']} instead of {shard}")
            if says["tape_sha256"] != self.load.tape.sha256:
                raise GeneratorError(
                    f"load node {node.name} has the tape {says['tape_sha256']} instead of {self.load.tape.sha256}"
                )

    def send(
        self,
        watch: Callable[[], None],
        at_the_ends: Callable[[], None] = lambda: None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Starts all nodes at the same instant, and returns once all have finished.

        Args:
            watch: Called repeatedly during the load; an exception ends the wait.
            at_the_ends: Called twice: just before the load begins, and at the time of the load's last journey.
            meanwhile: Called once the load has begun.

        Raises:
            GeneratorError: A node failed, or did not finish within the grace period.
            MeshError: A node has ended.
        """
        # Based on a node's clock: the nodes' clocks may differ less from each other than from this machine's clock.
        start_ns = self.nodes[0].clock_ns() + round(self.start_ahead_s * 1e9)
        start = time.monotonic() + self.start_ahead_s
        self._on_all(lambda node: node.write(START, f"{start_ns}\n"))
        self._watch_until(start - 2 * self.calm_s, watch)
        self._on_all(_end_of)  # a node that got the start time too late has refused it
        self._watch_until(start - self.calm_s, watch)
        at_the_ends()
        self._watch_until(start, watch)
        meanwhile()
        self._watch_until(start + self.load.duration_s, watch)
        at_the_ends()
        self._await(DONE, GRACE_S)

    def collect(self, out: Path) -> None:
        """Merges the nodes' results into a folder as if one generator had written them, and lets the nodes end.

        Raises:
            GeneratorError: The shards belong to different replays, or a shard is incomplete.
        """
        with TemporaryDirectory(prefix=".shards-", dir=out) as scratch:
            parts = [Path(scratch, node.name) for node in self.nodes]
            for part in parts:
                part.mkdir()
            folders = dict(zip((node.name for node in self.nodes), parts, strict=True))
            self._on_all(lambda node: node.fetch(RESULTS, folders[node.name]))
            self._on_all(lambda node: node.write(TAKEN, ""))
            self.shopload.merge(parts, out)

    def _watch_until(self, then: float, watch: Callable[[], None]) -> None:
        while time.monotonic() < then:
            watch()
            for node in self.nodes:
                node.check()
            time.sleep(max(0.0, min(self.poll_s, then - time.monotonic())))

    def _await(self, file: str, limit_s: float) -> list[dict[str, Any]]:
        """Waits until every node has written a file."""
        limit = time.monotonic() + limit_s
        while True:
            texts = self._on_all(lambda node: _text_of(node, file))
            missing = [node.name for node, text in zip(self.nodes, texts, strict=True) if text is None]
            if not missing:
                return [json.loads(text) for text in texts if text is not None]
            if time.monotonic() > limit:
                what = "ready" if file == READY else "finished with the load"
                raise GeneratorError(f"these load nodes were not {what} within {limit_s:g} s: {', '.join(missing)}")
            time.sleep(self.poll_s)

    def _on_all(self, act: Callable[[Node], T]) -> list[T]:
        """Acts on all nodes concurrently, because a call to a node may take a slow round trip."""
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            return list(pool.map(act, self.nodes))


def _text_of(node: Node, file: str) -> str | None:
    """Reads a file that a node writes, and checks that the node still runs."""
    end = _end_of(node)
    text = end if file == DONE else node.read(file)
    if text is None:
        node.check()
    return text


def _end_of(node: Node) -> str | None:
    """Returns a node's final report, or None while the node has not finished; raises GeneratorError if it failed."""
    text = node.read(DONE)
    if text is not None:
        end = json.loads(text)
        if end["exit_code"] != 0:
            raise GeneratorError(f"load node {node.name} failed: {end['error']}")
    return text
