"""A synthetic run of the capacity experiment: two topologies, the second of which is limited by the generator."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from hops.kinds.capacity.document import KIND, STAIRS, Asked, Load, Phase, SearchBounds
from hops.kinds.capacity.search import Bounds
from hops.run.files import MANIFEST, TRIALS
from synthetic.run import Arm, scale_parts, write_generated_run

TOPOLOGIES = ("hybrid", "rest")
HELD = 40.0
STEPS: dict[Load, list[tuple[Phase, float]]] = {
    "sweep": [("search", 20), ("search", HELD), ("search", 2 * HELD), ("confirm", HELD)],
    "stress": [("users", 100), ("users", 300)],
    "overload": [("peak", 1), ("peak", 5)],
}


def write_capacity_run(folder: Path, load: Load, blocks: int = 1, **changes: Any) -> Path:
    """Writes a run whose topologies sustain 40 journeys a second; `changes` are further entries of its manifest."""
    steps = {
        f"{name}-{number}-{phase}-{amount:g}": (name, phase, amount)
        for name in TOPOLOGIES
        for number, (phase, amount) in enumerate(STEPS[load] * blocks, start=1)
    }
    arms = [
        Arm(label, name, rate=amount, parts=scale_parts(200.0 if amount > HELD else 1.0), traced=False)
        for label, (name, phase, amount) in steps.items()
    ]
    write_generated_run(folder, blocks=1, journeys_per_trial=420, kind=KIND, arms=arms)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    bounds = Bounds(20.0, 1000.0, lowest=20.0, precision=2.0)
    asked = Asked(
        load=load,
        objective_ms=None if load == "stress" else 1000.0,
        search=None if load == "stress" else cast("SearchBounds", asdict(bounds)),
        users=[100, 300] if load == "stress" else [],
        think_s=10.0,
        connections=0,
        factors=[1, 5] if load == "overload" else [],
        given=dict.fromkeys(TOPOLOGIES, HELD) if load == "overload" else {},
        blocks=blocks,
    )
    for label, (_, phase, amount) in steps.items():
        manifest["loads"][label] |= _load(phase, amount, manifest["profile"]["duration_s"])
    if load == "stress":
        manifest |= {"mode": "closed", "closed": {"vus": 300, "think_s": 10.0, "fewest": 100}}
    manifest |= {KIND: asked, "stopped": {}, **changes}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    trials = json.loads((folder / TRIALS).read_text(encoding="utf-8"))
    for trial in trials["trials"]:
        if steps[trial["topology"]][:2] == ("rest", "search"):
            trial["gates"].append({"name": "generator_cores", "value": 0.9, "limit": 0.8, "ok": False})
    (folder / TRIALS).write_text(json.dumps(trials), encoding="utf-8")
    return folder


def _load(phase: Phase, amount: float, duration_s: float) -> dict[str, Any]:
    closed = {"vus": int(amount), "think_s": 10.0} if phase == "users" else None
    steps = [share or amount for share in STAIRS] if phase == "peak" else []
    rate = HELD if phase == "peak" else amount
    sending = {"rate": rate, "duration_s": duration_s, "closed": closed, "steps": steps, "overload": phase != "confirm"}
    return {"name": f"{phase}-{amount:g}", "rate": rate, "sending": sending}
