"""Load nodes go through the steps together, and the first failure of a node is reported."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from experiment.errors import GeneratorError, UsageError
from experiment.generator.nodes import DONE, READY, RESULTS, START, TAKEN, ShardedReplay, node_arguments
from experiment.generator.shopload import Load, Shopload, Tape
from experiment.plan.closed_loop import ClosedLoop
from mesh.errors import ClusterError

TAPE = Tape(Path("tape.jsonl"), "abc", 10, 1)
NOON_NS = 1_800_000_000_000_000_000


class FakeNode:
    """A node in memory, which answers immediately.

    Args:
        ready: Changes to the message that it sends when it is ready; None if it never gets ready.
        refuses: Error with which it fails once it gets the start time.
        gone: The reason why the node can no longer be reached.
    """

    def __init__(
        self, index: int, count: int, *, ready: dict[str, Any] | None = None, refuses: str = "", gone: str = ""
    ) -> None:
        self.name = f"load-{index}"
        self.files: dict[str, str] = {}
        self.fetched: list[str] = []
        self.asked = 0
        self._refuses, self._gone = refuses, gone
        if not gone:
            says = {"shard": f"{index}/{count}", "tape_sha256": TAPE.sha256, "journeys": 5, "at_ns": NOON_NS}
            self.files[READY] = json.dumps(says | (ready or {}))

    def read(self, file: str) -> str | None:
        self.asked += 1
        return self.files.get(file)

    def write(self, file: str, text: str) -> None:
        self.files[file] = text
        if file == START:
            self.files[DONE] = json.dumps({"exit_code": int(bool(self._refuses)), "error": self._refuses})

    def clock_ns(self) -> int:
        return NOON_NS

    def fetch(self, files: Sequence[str], folder: Path) -> None:
        self.fetched += files
        folder.joinpath("of").write_text(self.name)

    def check(self) -> None:
        if self._gone:
            raise ClusterError(self._gone)


def replay(
    nodes: Sequence[FakeNode], shopload: Shopload | None = None, *, seconds: float = 0.03, ready_s: float = 60
) -> ShardedReplay:
    load = Load(TAPE, seconds)
    return ShardedReplay(
        nodes, load, shopload or Shopload(Path("none")), ready_s=ready_s, start_ahead_s=0.02, poll_s=0.01, calm_s=0.005
    )


def test_all_nodes_begin_at_one_instant_and_their_files_are_merged(tmp_path: Path) -> None:
    nodes = [FakeNode(index, 3) for index in range(3)]
    binary = tmp_path / "shopload"
    binary.write_text('#!/bin/sh\necho "$@" > "$3/arguments"; cat "$5/of" "$7/of" "$9/of" > "$3/parts"\n')
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    looks: list[int] = []
    one = replay(nodes, Shopload(binary), seconds=1)
    one.get_ready()
    one.send(lambda: looks.append(1))
    one.collect(tmp_path)
    assert {node.files[START] for node in nodes} == {f"{NOON_NS + 20_000_000}\n"}
    assert looks
    assert all(tuple(node.fetched) == RESULTS and TAKEN in node.files for node in nodes)
    assert (tmp_path / "parts").read_text() == "load-0load-1load-2"
    assert (tmp_path / "arguments").read_text().startswith("merge --out ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arguments", "parts", "shopload"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shard": "0/3"}, "load node load-1 has shard 0/3 instead of 1/2"),
        ({"tape_sha256": "other"}, "load node load-1 has the tape other instead of abc"),
    ],
)
def test_a_node_with_the_wrong_shard_or_tape_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=message):
        replay([FakeNode(0, 2), FakeNode(1, 2, ready=changes)]).get_ready()


def test_a_node_that_gets_the_start_time_too_late_ends_the_replay_early() -> None:
    nodes = [FakeNode(0, 2), FakeNode(1, 2, refuses="the start instant passed")]
    one = replay(nodes, seconds=600)
    one.get_ready()
    with pytest.raises(GeneratorError, match="load node load-1 failed: the start instant passed"):
        one.send(lambda: None)


def test_a_sending_node_gets_no_requests() -> None:
    node = FakeNode(0, 1)
    one = replay([node])
    one.get_ready()
    seen: list[tuple[str, int]] = []
    one.send(
        lambda: None, lambda: seen.append(("end", node.asked)), meanwhile=lambda: seen.append(("meanwhile", node.asked))
    )
    (_, began), (during, while_it_sends), (_, ended) = seen
    assert during == "meanwhile"
    assert began == while_it_sends == ended < node.asked


def test_a_node_that_is_gone_says_why() -> None:
    with pytest.raises(ClusterError, match="OOMKilled"):
        replay([FakeNode(0, 2), FakeNode(1, 2, gone="load-1: OOMKilled")]).get_ready()


def test_nodes_that_are_never_ready_are_named() -> None:
    nodes = [FakeNode(index, 3) for index in range(3)]
    for node in nodes[1:]:
        del node.files[READY]
    with pytest.raises(GeneratorError, match=r"load nodes were not ready within 0\.03 s: load-1, load-2"):
        replay(nodes, ready_s=0.03).get_ready()


def test_an_exception_of_the_watch_ends_the_load() -> None:
    def die() -> None:
        raise ClusterError("order died")

    one = replay([FakeNode(0, 1)], seconds=600)
    one.get_ready()
    with pytest.raises(ClusterError, match="order died"):
        one.send(die)


def arguments(load: Load) -> list[str]:
    tape, target, out = (PurePosixPath("/load", name) for name in ("tape.gz", "target.json", "out"))
    return node_arguments(load, tape=tape, target=target, out=out, shard=1, shards=3, trace=0.2)


def test_a_node_gets_its_shard_and_the_connections_of_all() -> None:
    command = "node --tape /load/tape.gz --target /load/target.json --out /load/out --shard 1/3 --trace 0.2"
    assert arguments(Load(TAPE, 20)) == command.split()
    assert arguments(Load(TAPE, 20, connections=8)) == f"{command} --connections 8".split()


def test_a_closed_loop_has_no_shards() -> None:
    with pytest.raises(UsageError, match="a closed loop has no arrival times"):
        arguments(Load(TAPE, 20, ClosedLoop(8, 0.0)))
