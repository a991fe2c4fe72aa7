"""Checks the `summary.json` of a smoke bench for what must be true on any machine, busy or not.

    python .ci/check_summary.py results/latest/summary.json

A shared machine may be too noisy for its figures to be VALID: gates that make a run NOISY are printed, not enforced.
Gates that make it WRONG depend only on the code, and are enforced.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import yaml

WORKLOAD = Path(__file__).resolve().parents[1] / "load" / "workloads" / "default.yaml"


def problems(summary: dict[str, Any]) -> list[str]:
    """Lists what is wrong with a summary; empty if nothing is."""
    wrong = []
    if summary["schema"] != 3:
        wrong.append(f"schema is {summary['schema']}, not 3")
    wrong += [
        f"gate {gate['name']}: {gate['value']}, limit {gate['limit']}"
        for gate in summary["gates"]
        if gate["verdict"] == "WRONG"
    ]
    journeys = {"all", *(share["journey"] for share in yaml.safe_load(WORKLOAD.read_text())["mix"])}
    for name, topology in summary["topologies"].items():
        if set(topology["journeys"]) != journeys:
            wrong.append(f"{name}: journeys are {', '.join(sorted(topology['journeys']))}")
        for journey, cell in topology["journeys"].items():
            if not cell["count"] or not cell["latency_ms"]["p50"]:
                wrong.append(f"{name}, {journey}: nothing was measured")
            total = sum(cell["budget_ms"]["mean"].values())
            if cell["traces"] and not math.isclose(total, cell["traced_mean_ms"], rel_tol=1e-9):
                mean = cell["traced_mean_ms"]
                wrong.append(f"{name}, {journey}: the budget adds up to {total} ms, the traced mean is {mean}")
            for part, net in cell["net_of_tracing"].items():
                if net["net_ms"] is None:
                    if part.startswith("work:"):
                        wrong.append(f"{name}, {journey}: what tracing costs {part} is not known")
                elif not math.isclose(net["net_ms"] + net["tracing_ms"], cell["budget_ms"]["mean"][part], rel_tol=1e-9):
                    wrong.append(f"{name}, {journey}: {part} and the cost of tracing add up to another mean")
        if not topology["journeys"]["all"]["traces"]:
            wrong.append(f"{name}: no traces")
    return wrong


def main() -> int:
    """Runs the check; returns its exit code."""
    path = Path(sys.argv[1])
    summary = json.loads(path.read_text(encoding="utf-8"))
    for gate in summary["gates"]:
        print(f"{gate['verdict']} {gate['name']}: {gate['value']}")
    wrong = problems(summary)
    for problem in wrong:
        print(f"{path}: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
