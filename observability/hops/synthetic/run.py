"""A results folder made up from a seed: for tests, for the benchmark of the report, and to look at without a run.

Latencies are as real ones are: lognormal (skewed), autocorrelated from one arrival to the next, shifted as a whole
from block to block and from trial to trial. The parts of each trace add up to its journey's latency, exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.budget.bands import exemplars
from hops.run.documents import SCHEMA, Gate
from hops.run.files import MANIFEST, SAMPLE_FILE, TRIALS, trial_folder
from hops.run.rows import HOPS, JOURNEYS, RESOURCES, write_parquet
from hops.synthetic.experiment import Noise
from hops.synthetic.otlp import write_exemplars
from hops.synthetic.shop import JOURNEY_SHAPES, TopologyShape, cpu_ms, parts_ms, shape_of, topology_document, waves
from hops.synthetic.traces import BASE_NS

NS_PER_S = 1_000_000_000
_GAP_S = 30
_PROTOCOL_BYTES = 210
COMMIT = "0" * 40


@dataclass(frozen=True, slots=True)
class _Tape:
    journeys: list[str]
    arrivals_ns: npt.NDArray[np.int64]
    rate: float


@dataclass(slots=True)
class _Rows:
    journeys: list[pl.DataFrame] = field(default_factory=list)
    hops: list[pl.DataFrame] = field(default_factory=list)
    resources: list[pl.DataFrame] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)


def write_generated_run(
    folder: Path,
    *,
    topologies: Sequence[str] = ("rest", "graphql", "grpc", "hybrid"),
    blocks: int = 5,
    journeys_per_trial: int = 1000,
    traced: float = 0.2,
    seed: int = 1,
    noise: Noise | None = None,
    delays_ms: Mapping[str, Mapping[str, float]] | None = None,
    failing: Mapping[tuple[int, str], str] | None = None,
    rate: float = 50.0,
) -> Path:
    """Writes a run of schema 2, without summary and report.

    Args:
        folder: made if it is not there.
        topologies: their names; one of no known name behaves as `hybrid` does.
        blocks: how many; one block of one topology is a bench.
        journeys_per_trial: on the tape.
        traced: share of sampled journeys, 0 to 1.
        seed: same seed, same run.
        noise: how latencies scatter.
        delays_ms: topology -> part -> ms that each journey with this part takes longer.
        failing: (block, topology) -> name of a gate that fails in this trial.
        rate: journeys a second.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    noise = noise or Noise()
    rng = np.random.default_rng(seed)
    tape = _tape(journeys_per_trial, rate, rng)
    rows = _Rows()
    begins_ns = BASE_NS
    for block in range(1, blocks + 1):
        shift = rng.normal(0, noise.block)
        for position, index in enumerate(rng.permutation(len(topologies)).tolist(), 1):
            name = topologies[index]
            factor = math.exp(shift + rng.normal(0, noise.trial))
            delays = (delays_ms or {}).get(name, {})
            fails = (failing or {}).get((block, name))
            _add_trial(folder, rows, tape, name, block, position, begins_ns, factor, traced, noise, delays, fails, rng)
            begins_ns += int(tape.arrivals_ns[-1]) + _GAP_S * NS_PER_S
    for file, frames in (("journeys", rows.journeys), ("hops", rows.hops), ("resources", rows.resources)):
        write_parquet(pl.concat(frames), folder / f"{file}.parquet")
    _write_json(folder / TRIALS, {"schema": SCHEMA, "trials": rows.trials})
    _write_json(folder / MANIFEST, _manifest(topologies, blocks, tape, traced, seed))
    return folder


def _tape(count: int, rate: float, rng: np.random.Generator) -> _Tape:
    weights = np.array([shape.weight for shape in JOURNEY_SHAPES.values()], dtype=np.float64)
    journeys = rng.choice(list(JOURNEY_SHAPES), size=count, p=weights / weights.sum())
    arrivals = np.cumsum(rng.exponential(1 / rate, count)) * NS_PER_S
    return _Tape(journeys.tolist(), arrivals.astype(np.int64), rate)


def _add_trial(
    folder: Path,
    rows: _Rows,
    tape: _Tape,
    name: str,
    block: int,
    position: int,
    begins_ns: int,
    factor: float,
    traced: float,
    noise: Noise,
    delays: Mapping[str, float],
    fails: str | None,
    rng: np.random.Generator,
) -> None:
    shape = shape_of(name)
    budgets = {journey: _budget(shape, journey, delays) for journey in JOURNEY_SHAPES}
    means = np.array([sum(budgets[journey][0].values()) for journey in tape.journeys])
    added = np.array([sum(budgets[journey][1].values()) for journey in tape.journeys])
    latency_ns = ((means * factor * noise.draw(len(means), rng) + added) * 1e6).astype(np.int64)
    journeys = _journeys(tape, shape, begins_ns, latency_ns, traced, rng)
    hops = _hops(journeys, budgets, rng)
    resources = _resources(shape, tape, begins_ns, factor, rng)
    labels = [pl.lit(block, dtype=pl.Int32).alias("block"), pl.lit(name).alias("topology")]
    rows.journeys.append(journeys.select(*labels, pl.all()))
    rows.hops.append(hops.select(*labels, pl.all()))
    rows.resources.append(resources.select(*labels, pl.all()))
    last = resources.filter(pl.col("at_ns") == pl.col("at_ns").max())
    chosen = exemplars(hops) if hops.height else {}
    where = folder / trial_folder(name, block)
    where.mkdir(parents=True, exist_ok=True)
    write_exemplars(where / "exemplars.jsonl", journeys, chosen)
    _write_sample(where / SAMPLE_FILE, shape)
    rows.trials.append(
        {
            "block": block,
            "topology": name,
            "attempt": 1,
            "position": position,
            "used": True,
            "valid": fails is None,
            "gates": _gates(fails),
            "gates_left_out": [],
            "began": _time(begins_ns),
            "ended": _time(begins_ns + int(tape.arrivals_ns[-1])),
            "commit": COMMIT,
            "phases_s": {"start": 2.1, "parity": 0.6, "warmup": 4.1, "replay": float(tape.arrivals_ns[-1]) / NS_PER_S},
            "machine_speed": 20.0 + block / 10,
            "answers_sha256": "0" * 64,
            "cpu_s": dict(zip(last["component"], last["cpu_s"], strict=True)),
            "rss_mb": dict(zip(last["component"], last["memory_mb"], strict=True)),
            "memory_peak_mb": float(last["memory_mb"].sum()),
            "generator": _generator(journeys, tape),
            "exemplars": chosen,
        }
    )


def _budget(
    shape: TopologyShape, journey: str, delays: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    parts = parts_ms(shape, journey)
    return parts, {part: delays.get(part, 0.0) for part in parts}


def _journeys(
    tape: _Tape,
    shape: TopologyShape,
    begins_ns: int,
    latency_ns: npt.NDArray[np.int64],
    traced: float,
    rng: np.random.Generator,
) -> pl.DataFrame:
    count = latency_ns.size
    intended = tape.arrivals_ns + begins_ns
    trips = [waves(shape, journey) for journey in tape.journeys]
    sent = [JOURNEY_SHAPES[journey] for journey in tape.journeys]
    return pl.DataFrame(
        {
            "seq": np.arange(count),
            "journey": tape.journeys,
            "channel": [plan.channel for plan in sent],
            "mode": ["open"] * count,
            "intended_ns": intended,
            "started_ns": intended + rng.integers(50_000, 150_000, count),
            "ended_ns": intended + latency_ns,
            "latency_ns": latency_ns,
            "outcome": ["ok"] * count,
            "error": [""] * count,
            "bytes_in": [plan.answer_bytes // 4 for plan in sent],
            "bytes_in_raw": [plan.answer_bytes for plan in sent],
            "bytes_out": [160] * count,
            "requests": trips,
            "waves": trips,
            "parallel": [1] * count,
            "sampled": rng.random(count) < traced,
            "trace_id": [f"{one | 1:032x}" for one in rng.integers(1, 2**62, count).tolist()],
            "answer_sha256": ["0" * 64] * count,
            "order_id": [None] * count,
        },
        schema=JOURNEYS,
    )


def _hops(
    journeys: pl.DataFrame,
    budgets: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    rng: np.random.Generator,
) -> pl.DataFrame:
    frames = [HOPS.to_frame()]
    for journey, (parts, added) in budgets.items():
        rows = journeys.filter(pl.col("sampled") & (pl.col("journey") == journey))
        shares = np.array(list(parts.values()))
        fixed = (np.array(list(added.values())) * 1e6).astype(np.int64)
        left = rows["latency_ns"].to_numpy() - fixed.sum()
        drawn = rng.gamma(4.0, 0.25, (rows.height, shares.size)) * shares
        split = (drawn / drawn.sum(axis=1, keepdims=True) * left[:, None]).astype(np.int64)
        split[:, -1] += left - split.sum(axis=1)  # what rounding down left over
        split += fixed
        names = list(parts)
        frames.append(
            rows.select(
                "trace_id",
                "journey",
                "channel",
                pl.lit(pl.Series([names])).first().alias("part"),
                pl.Series("ns", split.tolist(), dtype=pl.List(pl.Int64)),
            )
            .explode("part", "ns")
            .with_columns(pl.lit(1, dtype=pl.Int64).alias("crossings"))
        )
    return pl.concat(frames)


def _resources(
    shape: TopologyShape, tape: _Tape, begins_ns: int, factor: float, rng: np.random.Generator
) -> pl.DataFrame:
    seconds = max(2, math.ceil(int(tape.arrivals_ns[-1]) / NS_PER_S) + 1)
    rows: list[tuple[int, str, float, float, int]] = []
    for component, mean_ms in cpu_ms(shape).items():
        whole_s = mean_ms / 1e3 * len(tape.journeys) * factor * math.exp(rng.normal(0, 0.01))
        memory_mb = 40 + 60 * rng.random()
        for second in range(seconds):
            done = second / (seconds - 1)
            memory = memory_mb * (0.9 + 0.1 * done)
            rows.append((begins_ns + second * NS_PER_S, component, whole_s * done, memory, 1))
    return pl.DataFrame(rows, schema=RESOURCES, orient="row")


def _gates(fails: str | None) -> list[Gate]:
    names = {"parity": 0.0, "tape_unsent": 0.0, "start_lag_p99_ms": 1.0, "failure_share": 0.001, "steal_share": 0.02}
    gates = [Gate(name=name, value=0.0, limit=limit, ok=True) for name, limit in names.items() if name != fails]
    return gates + ([] if fails is None else [Gate(name=fails, value=names.get(fails, 0.0) + 1, limit=0.0, ok=False)])


def _generator(journeys: pl.DataFrame, tape: _Tape) -> dict[str, Any]:
    body_in, body_out = int(journeys["bytes_in"].sum()), int(journeys["bytes_out"].sum())
    return {
        "mode": "open",
        "journeys": journeys.height,
        "tape_journeys": len(tape.journeys),
        "wall_s": float(tape.arrivals_ns[-1]) / NS_PER_S,
        "cpu_s": journeys.height / 1e3,
        "wire_bytes_in": body_in + _PROTOCOL_BYTES * journeys.height,
        "wire_bytes_out": body_out + _PROTOCOL_BYTES * journeys.height,
        "opening_bytes_in": 2655,
        "opening_bytes_out": 3705,
        "connections_dialed": 4,
        "start_lag_p50_us": 100.0,
        "start_lag_p99_us": 149.0,
        "spans_dropped": 0,
    }


def _write_sample(path: Path, shape: TopologyShape) -> None:
    lines = [
        json.dumps(
            {
                "journey": journey,
                "channel": plan.channel,
                "wire_in": plan.answer_bytes // 4 + _PROTOCOL_BYTES * waves(shape, journey),
                "wire_out": 160 + _PROTOCOL_BYTES * waves(shape, journey),
            }
        )
        for journey, plan in JOURNEY_SHAPES.items()
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _manifest(topologies: Sequence[str], blocks: int, tape: _Tape, traced: float, seed: int) -> dict[str, Any]:
    digest = f"{seed:064x}"
    return {
        "schema": SCHEMA,
        "name": "made-up",
        "kind": "bench" if len(topologies) == 1 and blocks == 1 else "compare",
        "blocks": blocks,
        "began": _time(BASE_NS),
        "ended": _time(BASE_NS),
        "git": {"commit": COMMIT, "dirty": False},
        "machine": {
            "cpu": "made up", "cores": 2, "memory_mb": 24_000, "kernel": "none", "architecture": "none",
            "python": "3.11",
        },
        "versions": {},
        "topologies": {name: topology_document(name, shape_of(name)) for name in topologies},
        "switches": {
            "edge": "envoy", "mesh": "none", "mtls": "off", "trace": traced, "scale": 1, "http": 2, "rtt_ms": 0,
            "connections": 4,
        },
        "journeys": len(tape.journeys),
        "mode": "open",
        "closed": None,
        "profile": {
            "name": "made up", "warmup_s": 4, "duration_s": math.ceil(int(tape.arrivals_ns[-1]) / NS_PER_S),
            "rate": tape.rate, "parity_samples": 3,
        },
        "workload": "default.yaml",
        "seeds": {"tape": seed, "data": 1, "bootstrap": seed, "order": seed},
        "tapes": {"parity": digest, "warmup": digest, "load": digest},
    }  # fmt: skip


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns / NS_PER_S, UTC).isoformat(timespec="seconds")


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
