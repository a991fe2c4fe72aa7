"""A synthetic results folder: for tests, for benchmarking the report, and for viewing a report without a run.

Latencies are realistic: lognormal (skewed), autocorrelated from one arrival to the next, and shifted by a common factor
in each block and in each trial. The parts of each trace add up exactly to its journey's latency.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.budget.bands import exemplars
from hops.budget.parts import EDGE, GENERATOR
from hops.run.documents import SCHEMA
from hops.run.documents.gate import Gate
from hops.run.files import MANIFEST, SAMPLE_FILE, TRIALS, trial_folder
from hops.run.rows import JOURNEYS, PATHS, RESOURCES, write_parquet
from hops.traces.write_otlp import otlp_document
from synthetic.experiment import Noise
from synthetic.shop import JOURNEY_SHAPES, TopologyShape, call_paths, cpu_ms, document_of, parts_ms, shape_of, waves
from synthetic.traces import BASE_NS, shop_trace

NS_PER_S = 1_000_000_000
_GAP_S = 30
_RATE = 50.0
"""Journeys a second."""
_PROTOCOL_BYTES = 210
_REQUEST_BYTES = 160
"""Bytes of headers and framing in each direction of a request, and bytes of a request's body."""
_SPANS_OF_EXEMPLAR = 16
_SPANS_OF_MESHED_EXEMPLAR = 40
_CLIENT_WIRE = f"wire:{GENERATOR}→{EDGE}"
_Rows = npt.NDArray[np.intp]
COMMIT = "0" * 40
MACHINE = {
    "cpu": "made up", "cores": 2, "memory_mb": 24_000, "kernel": "none", "architecture": "none", "python": "3.11",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arm:
    """Properties of an arm's trials; by default, the topology is unchanged.

    Args:
        topology: Name of the topology; an unknown topology behaves like `hybrid`.
        switches: Switches that differ from the run's switches, for the manifest.
        rate: Rate of its tape, in journeys a second, for the manifest; None for the run's rate.
    """

    label: str
    topology: str
    switches: Mapping[str, object] = field(default_factory=dict)
    rtt_ms: float = 0.0
    rate: float | None = None
    parts: Callable[[Mapping[str, float]], Mapping[str, float]] = dict
    call_ms: Callable[[float], float] = float
    traced: bool = True


def scale_parts(factor: float) -> Callable[[Mapping[str, float]], Mapping[str, float]]:
    """Returns a change for `Arm.parts` by which each part takes `factor` times as long."""
    return lambda parts: {name: factor * ms for name, ms in parts.items()}


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
    mesh: str = "none",
    kind: str = "",
    arms: Sequence[Arm] = (),
) -> Path:
    """Writes a run in the current schema, without summary and report.

    Args:
        topologies: Names of the topologies; an unknown topology behaves like `hybrid`.
        blocks: Number of blocks; one block of one topology is a bench.
        delays_ms: Milliseconds added to each journey that has a part, by topology and part.
        failing: (block, topology) -> name of a gate that fails in this trial.
        mesh: none, envoy or istio; with a mesh, all calls go through sidecars with mTLS.
        kind: Kind of experiment, if it defines its arms; a bench or a comparison if empty.
        arms: Arms of such an experiment, instead of topologies.
    """
    rng = np.random.default_rng(seed)
    noise = noise or Noise()
    run = _Run(folder, journeys_per_trial, traced, noise, rng, mesh)
    arms = arms or [Arm(name, name) for name in topologies]
    for block in range(1, blocks + 1):
        shift = rng.normal(0, noise.block)
        for position, index in enumerate(rng.permutation(len(arms)).tolist(), 1):
            arm = arms[index]
            factor = math.exp(shift + rng.normal(0, noise.trial))
            fails = (failing or {}).get((block, arm.label))
            run.add_trial(arm, block, position, factor, (delays_ms or {}).get(arm.label, {}), fails)
    manifest = _manifest(run, arms, blocks, seed)
    if kind:
        of_arms = {arm.label: manifest["switches"] | arm.switches for arm in arms}
        tape, journeys = manifest["tapes"]["load"], manifest["journeys"]
        loads = {
            arm.label: {"rate": arm.rate or _RATE, "without": "", "tape": f"{tape}-{arm.rate}", "journeys": journeys}
            for arm in arms
        }
        manifest |= {"kind": kind, "name": kind, "arms": of_arms, "loads": loads}
    run.write(manifest)
    return folder


class _Run:
    """A run in progress, trial by trial; all trials replay one tape."""

    def __init__(
        self, folder: Path, count: int, traced: float, noise: Noise, rng: np.random.Generator, mesh: str
    ) -> None:
        weights = np.array([shape.weight for shape in JOURNEY_SHAPES.values()], dtype=np.float64)
        self.journeys: list[str] = rng.choice(list(JOURNEY_SHAPES), size=count, p=weights / weights.sum()).tolist()
        numbers = {journey: number for number, journey in enumerate(JOURNEY_SHAPES)}
        self._kinds: _Rows = np.array([numbers[journey] for journey in self.journeys])
        arrivals = np.cumsum(rng.exponential(1 / _RATE, count)) * NS_PER_S
        self.arrivals_ns: npt.NDArray[np.int64] = arrivals.astype(np.int64)
        self.length_ns = int(self.arrivals_ns[-1])
        self.traced = traced
        self.mesh = mesh
        self._folder, self._noise, self._rng = folder, noise, rng
        self._calls_rng = rng.spawn(1)[0]  # separate, so that drawing calls changes no other figure
        self._begins_ns = BASE_NS
        self._frames: dict[str, list[pl.DataFrame]] = {}
        self._trials: list[dict[str, Any]] = []

    def add_trial(
        self, arm: Arm, block: int, position: int, factor: float, delays: Mapping[str, float], fails: str | None
    ) -> None:
        name, shape = arm.label, shape_of(arm.topology)
        meshed = self.mesh != "none"
        budgets = {journey: arm.parts(parts_ms(shape, journey, mesh=meshed)) for journey in JOURNEY_SHAPES}
        added = {
            journey: [
                delays.get(part, 0.0) + arm.rtt_ms * waves(shape, journey) * (part == _CLIENT_WIRE) for part in parts
            ]
            for journey, parts in budgets.items()
        }
        means = self._of_each({journey: sum(parts.values()) for journey, parts in budgets.items()})
        added_ms = self._of_each({journey: sum(ms) for journey, ms in added.items()})
        latency_ms = means * factor * self._noise.draw(len(means), self._rng) + added_ms
        traced = self.traced if arm.traced else 0.0
        journeys = self._journey_rows(shape, (latency_ms * 1e6).astype(np.int64), traced)
        is_sampled = journeys["sampled"].to_numpy()
        sampled = {
            journey: np.flatnonzero(is_sampled & (self._kinds == kind)) for kind, journey in enumerate(JOURNEY_SHAPES)
        }
        hops = self._hop_rows(journeys, sampled, budgets, added)
        resources = self._resource_rows(shape, factor)
        labels = [pl.lit(block, dtype=pl.Int32).alias("block"), pl.lit(name).alias("topology")]
        calls = self._call_rows(arm, shape, journeys, sampled)
        frames = {"journeys": journeys, "hops": hops, "resources": resources, "calls": calls}
        for file, frame in {**frames, "paths": _path_rows(hops, budgets)}.items():
            self._frames.setdefault(file, []).append(frame.select(*labels, pl.all()))
        last = resources.filter(pl.col("at_ns") == pl.col("at_ns").max())
        chosen = exemplars(hops)
        trial = self._folder / trial_folder(name, block)
        trial.mkdir(parents=True, exist_ok=True)
        _write_exemplars(trial / "exemplars.jsonl", journeys, chosen, mesh=meshed)
        _write_lines(trial / SAMPLE_FILE, [_sample(shape, journey) for journey in JOURNEY_SHAPES])
        length_s = self.length_ns / NS_PER_S * _RATE / (arm.rate or _RATE)
        self._trials.append(
            {
                "block": block,
                "topology": name,
                "attempt": 1,
                "position": position,
                "used": True,
                "gates": _gates(fails),
                "gates_left_out": [],
                "began": _time(self._begins_ns),
                "ended": _time(self._begins_ns + self.length_ns),
                "commit": COMMIT,
                "phases_s": {"start": 2.1, "parity": 0.6, "warmup": 4.1, "replay": length_s},
                "machine_speed": 20.0 + block / 10,
                "answers_sha256": "0" * 64,
                "cpu_s": dict(zip(last["component"], last["cpu_s"], strict=True)),
                "rss_mb": dict(zip(last["component"], last["memory_mb"], strict=True)),
                "memory_peak_mb": float(last["memory_mb"].sum()),
                "generator": _generator(journeys, length_s),
                "exemplars": chosen,
            }
        )
        self._begins_ns += self.length_ns + _GAP_S * NS_PER_S

    def _of_each(self, values: Mapping[str, float]) -> npt.NDArray[Any]:
        """Looks up a value for each journey by its kind, in the order of the tape."""
        return np.array([values[journey] for journey in JOURNEY_SHAPES])[self._kinds]

    def write(self, manifest: Mapping[str, Any]) -> None:
        for file, frames in self._frames.items():
            write_parquet(pl.concat(frames), self._folder / f"{file}.parquet")
        for name, document in ((TRIALS, {"schema": SCHEMA, "trials": self._trials}), (MANIFEST, manifest)):
            text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            (self._folder / name).write_text(text, encoding="utf-8")

    def _journey_rows(self, shape: TopologyShape, latency_ns: npt.NDArray[np.int64], traced: float) -> pl.DataFrame:
        rng, count = self._rng, latency_ns.size
        intended = self.arrivals_ns + self._begins_ns
        trips = self._of_each({journey: waves(shape, journey) for journey in JOURNEY_SHAPES})
        answer_bytes = self._of_each({journey: plan.answer_bytes for journey, plan in JOURNEY_SHAPES.items()})
        return pl.DataFrame(
            {
                "seq": np.arange(count),
                "journey": self.journeys,
                "channel": [JOURNEY_SHAPES[journey].channel for journey in self.journeys],
                "mode": "open",
                "intended_ns": intended,
                "started_ns": intended + rng.integers(50_000, 150_000, count),
                "ended_ns": intended + latency_ns,
                "latency_ns": latency_ns,
                "outcome": "ok",
                "error": "",
                "bytes_in": answer_bytes // 4,
                "bytes_in_raw": answer_bytes,
                "bytes_out": _REQUEST_BYTES,
                "requests": trips,
                "waves": trips,
                "parallel": 1,
                "network_ns": 0,
                "opening_round_trips": 0,
                "sampled": rng.random(count) < traced,
                "trace_id": [f"{one | 1:032x}" for one in rng.integers(1, 2**62, count).tolist()],
                "answer_sha256": "0" * 64,
                "order_id": None,
            },
            schema=JOURNEYS,
        )

    def _hop_rows(
        self,
        journeys: pl.DataFrame,
        sampled: Mapping[str, _Rows],
        budgets: Mapping[str, Mapping[str, float]],
        added_ms: Mapping[str, Sequence[float]],
    ) -> pl.DataFrame:
        latency_ns = journeys["latency_ns"].to_numpy()
        rows, parts, ns = [], list[str](), []
        for journey, means in budgets.items():
            at, added_ns = sampled[journey], (np.array(added_ms[journey]) * 1e6).astype(np.int64)
            left_ns = latency_ns[at] - added_ns.sum()
            drawn = self._rng.gamma(4.0, 0.25, (at.size, len(means))) * np.array(list(means.values()))
            split_ns = (drawn / drawn.sum(axis=1, keepdims=True) * left_ns[:, None]).astype(np.int64)
            split_ns[:, -1] += left_ns - split_ns.sum(axis=1)  # the remainder of rounding down
            rows.append(np.repeat(at, len(means)))
            parts += at.size * list(means)
            ns.append((split_ns + added_ns).ravel())
        return (
            journeys.select("trace_id", "journey", "channel")[np.concatenate(rows)]
            .with_columns(pl.Series("part", parts, dtype=pl.String), pl.Series("ns", np.concatenate(ns)))
            .with_columns(pl.lit(1, dtype=pl.Int64).alias(name) for name in ("crossings", "on_path"))
            .with_columns(pl.lit(0, dtype=pl.Int64).alias("inner_on_path"))
        )

    def _call_rows(
        self, arm: Arm, shape: TopologyShape, journeys: pl.DataFrame, sampled: Mapping[str, _Rows]
    ) -> pl.DataFrame:
        rows, callers, callees, between_ns = [], list[str](), list[str](), []
        for journey, at in sampled.items():
            for part in parts_ms(shape, journey):
                if "→" not in part:
                    continue
                caller, callee = part.removeprefix("wire:").split("→")
                drawn = self._calls_rng.gamma(4.0, 0.25, at.size) * arm.call_ms(shape.call_ms)
                rows.append(at)
                callers += at.size * [caller]
                callees += at.size * [callee]
                between_ns.append((drawn * 1e6).astype(np.int64))
        return journeys.select("trace_id", "journey")[np.concatenate(rows)].with_columns(
            pl.Series("caller", callers, dtype=pl.String),
            pl.Series("callee", callees, dtype=pl.String),
            pl.Series("between_ns", np.concatenate(between_ns)),
        )

    def _resource_rows(self, shape: TopologyShape, factor: float) -> pl.DataFrame:
        seconds = max(2, math.ceil(self.length_ns / NS_PER_S) + 1)
        rows: list[tuple[int, str, float, float, int]] = []
        for component, mean_ms in cpu_ms(shape, mesh=self.mesh).items():
            whole_s = mean_ms / 1e3 * len(self.journeys) * factor * math.exp(self._rng.normal(0, 0.01))
            memory_mb = 40 + 60 * self._rng.random()
            for second in range(seconds):
                done = second / (seconds - 1)
                memory = memory_mb * (0.9 + 0.1 * done)
                rows.append((self._begins_ns + second * NS_PER_S, component, whole_s * done, memory, 1))
        return pl.DataFrame(rows, schema=RESOURCES, orient="row")


def _path_rows(hops: pl.DataFrame, budgets: Mapping[str, Iterable[str]]) -> pl.DataFrame:
    paths = {journey: call_paths(parts) for journey, parts in budgets.items()}
    traces = dict(hops.group_by("journey").agg(pl.col("trace_id").n_unique()).iter_rows())
    sums = hops.group_by("journey", "part", maintain_order=True).agg(pl.col("ns").sum())
    rows = [(journey, paths[journey][part], ns, traces[journey]) for journey, part, ns in sums.iter_rows()]
    return pl.DataFrame(rows, schema=PATHS, orient="row")


def _write_exemplars(
    path: Path, journeys: pl.DataFrame, chosen: Mapping[str, Mapping[str, str]], *, mesh: bool
) -> None:
    """Writes a trace for each exemplar that lasts as long as its journey did."""
    wanted = {trace_id for traces in chosen.values() for trace_id in traces.values()}
    rows = journeys.filter(pl.col("trace_id").is_in(list(wanted))).iter_rows(named=True)
    traces = [
        shop_trace(
            row["seq"],
            _SPANS_OF_MESHED_EXEMPLAR if mesh else _SPANS_OF_EXEMPLAR,
            trace_id=row["trace_id"],
            journey=row["journey"],
            channel=row["channel"],
            start_ns=row["intended_ns"],
            total_ns=row["latency_ns"],
            mesh=mesh,
        )
        for row in rows
    ]
    _write_lines(path, [otlp_document(spans) for spans in traces])


def _sample(shape: TopologyShape, journey: str) -> dict[str, Any]:
    plan, protocol_bytes = JOURNEY_SHAPES[journey], _PROTOCOL_BYTES * waves(shape, journey)
    sides = {"wire_in": plan.answer_bytes // 4 + protocol_bytes, "wire_out": _REQUEST_BYTES + protocol_bytes}
    return {"journey": journey, "channel": plan.channel, **sides}


def _gates(fails: str | None) -> list[Gate]:
    names = {"parity": 0.0, "tape_unsent": 0.0, "start_lag_p99_ms": 1.0, "failure_share": 0.001, "steal_share": 0.02}
    gates = [Gate(name=name, value=0.0, limit=limit, ok=True) for name, limit in names.items() if name != fails]
    return gates + ([] if fails is None else [Gate(name=fails, value=names.get(fails, 0.0) + 1, limit=0.0, ok=False)])


def _generator(journeys: pl.DataFrame, length_s: float) -> dict[str, Any]:
    count = journeys.height
    return {
        "mode": "open",
        "journeys": count,
        "tape_journeys": count,
        "wall_s": length_s,
        "cpu_s": count / 1e3,
        "wire_bytes_in": int(journeys["bytes_in"].sum()) + _PROTOCOL_BYTES * count,
        "wire_bytes_out": int(journeys["bytes_out"].sum()) + _PROTOCOL_BYTES * count,
        "opening_bytes_in": 2655,
        "opening_bytes_out": 3705,
        "connections_dialed": 4,
        "start_lag_p50_us": 100.0,
        "start_lag_p99_us": 149.0,
        "spans_dropped": 0,
    }


def _manifest(run: _Run, arms: Sequence[Arm], blocks: int, seed: int) -> dict[str, Any]:
    digest = f"{seed:064x}"
    return {
        "schema": SCHEMA,
        "name": "made-up",
        "kind": "bench" if len(arms) == 1 and blocks == 1 else "compare",
        "blocks": blocks,
        "began": _time(BASE_NS),
        "ended": _time(BASE_NS),
        "git": {"commit": COMMIT, "dirty": False},
        "machine": MACHINE,
        "versions": {},
        "topologies": {arm.label: document_of(arm.topology, shape_of(arm.topology)) for arm in arms},
        "switches": {
            "edge": "envoy", "mesh": run.mesh, "mtls": "off" if run.mesh == "none" else "on", "trace": run.traced,
            "scale": 1, "http": 2, "network": "loopback", "rtt_ms": None, "bandwidth": "", "connections": 4,
        },
        "journeys": len(run.journeys),
        "mode": "open",
        "closed": None,
        "profile": {
            "name": "made up", "warmup_s": 4, "duration_s": math.ceil(run.length_ns / NS_PER_S),
            "rate": _RATE, "parity_samples": 3,
        },
        "workload": "default.yaml",
        "seeds": {"tape": seed, "data": 1, "bootstrap": seed, "order": seed},
        "tapes": {"parity": digest, "warmup": digest, "load": digest},
    }  # fmt: skip


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns / NS_PER_S, UTC).isoformat(timespec="seconds")


def _write_lines(path: Path, documents: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
