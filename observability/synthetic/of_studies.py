"""A synthetic replay of a study, in which it is known which claims are true."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hops.kinds.studies.document import KIND, Claim, Study, StudyLoad
from hops.run.files import MANIFEST
from synthetic.experiment import Noise
from synthetic.run import Arm, scale_parts, write_generated_run

STUDY = "made-up"


def synthetic_claim(name: str, **fields: Any) -> Claim:
    """Makes a claim that gRPC is faster than REST at p50 under the load `flat`; `fields` change it."""
    claim = Claim(
        id=name, metric="latency_p50", left="grpc", between=[], right="rest", relation="lt", value=None, tolerance=None,
        under={}, note="", source="", published="", topologies=[], why_topologies="", loads=["flat"], reason="",
        also={},
    )  # fmt: skip
    claim = {**claim, **fields}  # type: ignore[typeddict-item]
    return {**claim, "topologies": [claim["left"], *claim["between"], claim["right"]]}


def write_synthetic_replay(
    folder: Path, claims: Sequence[Claim], factors: Mapping[str, float], *, journeys: int = 300
) -> Path:
    """Writes the run of a replay; `factors` are the relative durations of its arms, by `TOPOLOGY-LOAD`."""
    names = list(dict.fromkeys(label.rpartition("-")[2] for label in factors))
    arms = [
        Arm(f"{STUDY}-{label}", "rest", rate=50.0 + names.index(label.rpartition("-")[2]), parts=scale_parts(factor))
        for label, factor in factors.items()
    ]
    calm = Noise(sigma=0.2, block=0.02, trial=0.01)
    write_generated_run(folder, kind=KIND, arms=arms, journeys_per_trial=journeys, noise=calm)
    load = StudyLoad(
        about="made up", sends="the default mix", arrivals=False, users=100, users_replayed=10, duration_s=60,
        duration_replayed_s=6, topologies=["rest", "grpc"],
    )  # fmt: skip
    study = Study(
        id=STUDY, title="A study that nobody made", authors=["A. Nobody"], year=2026, venue="nowhere",
        scale="One factor: users and time divided by 10. It is made up.", not_replayed="everything.",
        loads=dict.fromkeys(names, load), claims=list(claims),
    )  # fmt: skip
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "studies": [study]}), encoding="utf-8")
    return folder
