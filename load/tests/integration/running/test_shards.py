"""Several generators that share a tape give the same answers as a single generator, on the same system."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import GeneratorError
from experiment.generator.nodes import ShardedReplay, node_arguments
from experiment.generator.shopload import BINARY, Load, Shopload, Tape, stop
from hops.run.rows import read_rows
from mesh.errors import ComponentDiedError
from mesh.native.system import System
from mesh.paths import ROOT
from mesh.supervisor.processes import guard

pytestmark = [
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
    pytest.mark.parametrize("shop", ["grpc"], indirect=True, scope="package"),
]

SECONDS = 3.0
OF_THE_RUN = ("intended_ns", "started_ns", "ended_ns", "latency_ns", "trace_id", "order_id", "waves", "parallel")
"""Columns that differ from one replay of a tape to the next.

Two requests are sent at the same time, but on a busy machine the first may be answered before the second is sent.
"""


@dataclass
class LocalNode:
    """A load node that is a process on this machine."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]

    def read(self, file: str) -> str | None:
        path = self.folder / file
        return path.read_text() if path.is_file() else None

    def write(self, file: str, text: str) -> None:
        part = self.folder / f".{file}"
        part.write_text(text)
        part.rename(self.folder / file)

    def clock_ns(self) -> int:
        return time.time_ns()

    def fetch(self, files: Sequence[str], folder: Path) -> None:
        for file in files:
            (folder / file).write_bytes((self.folder / file).read_bytes())

    def check(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise ComponentDiedError(self.name, f"{self.name} ended with exit code {code}")


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    out = tmp_path_factory.mktemp("tape") / "tape.jsonl"
    workload = ROOT / "load" / "workloads" / "default.yaml"
    return Shopload(BINARY).tape(workload, out, seed=7, rate=20, duration_s=SECONDS, scale=1)


@contextmanager
def nodes_of(load: Load, shop: System, folder: Path, count: int) -> Iterator[list[LocalNode]]:
    """Load nodes on this machine, which are stopped at the end of the `with` block."""
    with ExitStack() as stack:
        nodes = []
        for shard in range(count):
            out = folder / f"node-{shard}"
            out.mkdir(parents=True)
            arguments = node_arguments(
                load, tape=load.tape.path, target=shop.target, out=out, shard=shard, shards=count, trace=0.4
            )
            process = subprocess.Popen(guard([str(BINARY), *arguments], signal.SIGKILL), stdin=subprocess.DEVNULL)
            stack.callback(stop, process)
            nodes.append(LocalNode(f"load-{shard}", out, process))
        yield nodes


def left_in(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Reads the generator's figures and the rows of a replay, without columns that differ between replays."""
    rows = read_rows(folder / "journeys.jsonl").drop(OF_THE_RUN, strict=False)
    return json.loads((folder / "generator.json").read_text()), rows.to_dicts()


@pytest.fixture(scope="module")
def alone(shop: System, tape: Tape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the results of a single generator."""
    folder = tmp_path_factory.mktemp("alone")
    shopload = Shopload(BINARY)
    replay = shopload.start_replay(Load(tape, SECONDS), shop.target, folder, trace=0.4)
    try:
        shopload.finish_replay(replay)
    finally:
        stop(replay)
    return folder


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_shards_together_equal_the_replay_of_one_generator(
    shop: System, tape: Tape, alone: Path, tmp_path: Path, count: int
) -> None:
    load = Load(tape, SECONDS)
    out = tmp_path / "merged"
    out.mkdir()
    with nodes_of(load, shop, tmp_path, count) as nodes:
        replay = ShardedReplay(nodes, load, Shopload(BINARY), start_ahead_s=3, poll_s=0.1)
        replay.get_ready()
        replay.send(shop.check)
        replay.collect(out)
        for node in nodes:
            assert node.process.wait(timeout=10) == 0
    figures, rows = left_in(out)
    expected, expected_rows = left_in(alone)
    assert expected["outcomes"]["ok"] == tape.journeys == figures["outcomes"]["ok"]
    assert 0 < expected["sampled"] < tape.journeys
    for name in ("tape_sha256", "answers_sha256", "shard", "sampled", "connections", "connections_dialed", "trace"):
        assert figures[name] == expected[name], name
    assert rows == expected_rows
    assert len(figures["shards"]) == count
    arrivals_ns = [json.loads(line)["at_ns"] for line in tape.path.read_text().splitlines()[1 : count + 1]]
    starts = {
        round((row["first_intended_ns"] - at) / 1e6) for row, at in zip(figures["shards"], arrivals_ns, strict=True)
    }
    assert len(starts) == 1, "the shards began at different instants"


def test_a_shard_that_is_missing_is_named(tape: Tape, shop: System, tmp_path: Path) -> None:
    load = Load(tape, SECONDS)
    with nodes_of(load, shop, tmp_path, 2) as nodes:
        ShardedReplay(nodes, load, Shopload(BINARY)).get_ready()
        nodes[0].write("start", f"{time.time_ns() + 1_000_000_000}\n")
        limit = time.monotonic() + 30
        while nodes[0].read("done.json") is None and time.monotonic() < limit:
            time.sleep(0.1)
    with pytest.raises(GeneratorError, match=r"^shopload merge failed: shard 1/2 is missing$"):
        Shopload(BINARY).merge([nodes[0].folder], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_node_that_dies_is_noticed(tape: Tape, shop: System, tmp_path: Path) -> None:
    load = Load(tape, SECONDS)
    with nodes_of(load, shop, tmp_path, 2) as nodes:
        replay = ShardedReplay(nodes, load, Shopload(BINARY), start_ahead_s=3, poll_s=0.1)
        replay.get_ready()
        nodes[1].process.kill()
        with pytest.raises(ComponentDiedError, match="load-1 ended"):
            replay.send(shop.check)
