"""Several generators that replay the shards of one tape, and leave what one generator would have left.

Each load node runs `shopload node`, which tells how far it is by files in its folder. Where a node is, and how those
files are reached, is up to its implementation (`Node`); `ShardedReplay` leads all of them from one step to the next.
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
"""Files of a node's folder, as `shopload node --help` has them."""
RESULTS = ("journeys.jsonl", "vegeta.gob", "generator.json")
"""What a node's replay leaves."""

T = TypeVar("T")


class Node(Protocol):
    """A place where `shopload node` runs, with the arguments that `node_arguments` gives."""

    @property
    def name(self) -> str:
        """Name for messages."""

    def read(self, file: str) -> str | None:
        """Returns the text of a file in the node's folder, None while it is not there."""

    def write(self, file: str, text: str) -> None:
        """Writes a file into the node's folder."""

    def clock_ns(self) -> int:
        """Returns the node's Unix time in nanoseconds, not later than now."""

    def fetch(self, files: Sequence[str], folder: Path) -> None:
        """Copies files of the node's folder into an existing folder of this machine."""

    def check(self) -> None:
        """Looks after the node.

        Raises:
            MeshError: It has ended or cannot be reached; says why.
        """


def node_arguments(
    load: Load, *, tape: PurePath, target: PurePath, out: PurePath, shard: int | str, shards: int, trace: float
) -> list[str]:
    """The generator's arguments on a load node.

    Args:
        load: What all nodes together send.
        tape: Path of the load's tape on the node, which may be compressed by gzip.
        target: File on the node that describes the system to send it to.
        out: The node's folder.
        shard: Which shard the node replays, from 0; or how the node is told, such as `$(JOB_COMPLETION_INDEX)`.
        shards: How many shards there are.
        trace: Share of the journeys that leave a trace, 0 to 1.

    Raises:
        UsageError: The load is a closed loop, whose virtual users take journeys as they get to them.
    """
    if load.closed is not None:
        raise UsageError("vus needs one load generator: a closed loop has no times by which several could share a tape")
    arguments = ["node", "--tape", str(tape), "--target", str(target), "--out", str(out)]
    arguments += ["--shard", f"{shard}/{shards}", "--trace", f"{trace:g}"]
    if load.connections:
        arguments += ["--connections", str(load.connections)]
    return arguments


@dataclass(frozen=True, slots=True)
class ShardedReplay:
    """One replay by several load nodes: `get_ready`, `send`, `collect`, in this order.

    Attributes:
        nodes: The nodes, by shard; they run.
        load: What they send together.
        shopload: The generator of this machine, which joins what they leave.
        ready_s: Seconds that a node may take to be ready.
        start_ahead_s: Seconds to the common start once all are ready; each node must have heard of it by then.
        poll_s: Seconds between looks at the nodes.
        calm_s: Seconds before the start from which on nobody asks a node anything, so that it has no other work.
    """

    nodes: Sequence[Node]
    load: Load
    shopload: Shopload
    ready_s: float = 60.0
    start_ahead_s: float = 5.0
    poll_s: float = 0.5
    calm_s: float = 1.0

    def get_ready(self) -> None:
        """Waits until every node could begin.

        Raises:
            GeneratorError: A node could not get ready, or has another shard or tape than it should.
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
        """Lets all nodes begin at one instant, and returns once every one of them is through.

        Args:
            watch: Called now and then while the load lasts; what it raises ends the wait.
            at_the_ends: Called twice, just before the load begins and when the time of its last journey has come.
            meanwhile: Called once the load has begun.

        Raises:
            GeneratorError: A node failed, or is still not through after the grace.
            MeshError: A node has ended.
        """
        # By a node's clock: this machine's may be off by more than the nodes' among themselves.
        start_ns = self.nodes[0].clock_ns() + round(self.start_ahead_s * 1e9)
        start = time.monotonic() + self.start_ahead_s
        self._on_all(lambda node: node.write(START, f"{start_ns}\n"))
        self._watch_until(start - 2 * self.calm_s, watch)
        self._on_all(_end_of)  # a node that heard of the start too late has refused it
        self._watch_until(start - self.calm_s, watch)
        at_the_ends()
        self._watch_until(start, watch)
        meanwhile()
        self._watch_until(start + self.load.duration_s, watch)
        at_the_ends()
        self._await(DONE, GRACE_S)

    def collect(self, out: Path) -> None:
        """Leaves in a folder what a single generator would have left there, and lets the nodes end.

        Raises:
            GeneratorError: The shards are not those of one replay, or not all of them are whole.
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
                what = "ready" if file == READY else "through with the load"
                raise GeneratorError(f"not {what} within {limit_s:g} s: load node {', '.join(missing)}")
            time.sleep(self.poll_s)

    def _on_all(self, act: Callable[[Node], T]) -> list[T]:
        """Acts on all nodes at the same time: each may be a slow round trip away."""
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            return list(pool.map(act, self.nodes))


def _text_of(node: Node, file: str) -> str | None:
    """Reads a file that a node is to write, and makes sure that it still can."""
    end = _end_of(node)
    text = end if file == DONE else node.read(file)
    if text is None:
        node.check()
    return text


def _end_of(node: Node) -> str | None:
    """What a node says in the end, None before that.

    Raises:
        GeneratorError: It failed.
    """
    text = node.read(DONE)
    if text is not None:
        end = json.loads(text)
        if end["exit_code"] != 0:
            raise GeneratorError(f"load node {node.name} failed: {end['error']}")
    return text
