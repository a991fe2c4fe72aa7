"""How faults affected customers and data, from the rows of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hops.analysis.summary import Measured, every_gate
from hops.gates.experiment import worst_of
from hops.gates.trial import AUDIT_GATES
from hops.gates.verdict import failing_gates
from hops.kinds.chaos.document import KIND, Struck
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.trial import Fault, TrialRecord
from hops.run.files import RunFiles
from hops.units import NS_PER_MS, NS_PER_S

LAST_S = 1.0
"""Final seconds of the load: a topology whose journeys still fail in them has not recovered."""
OVER_WITHIN_S = 5.0
"""Maximum time after the end of a fault during which journeys may still fail, in seconds."""
PERCENTILES = {"p50": 0.5, "p99": 0.99}
MESSAGES = 3


def chaos_figures(measured: Measured) -> Mapping[str, list[Struck]]:
    """Computes the figures that only a run with faults has."""
    topologies = measured.run.manifest["topologies"]
    order = list(topologies)
    struck = []
    for trial in sorted(measured.run.used, key=lambda trial: (order.index(trial["topology"]), trial["block"])):
        label, fault = trial["topology"], trial["fault"]
        journeys = measured.journeys[label].filter(pl.col("block") == trial["block"])
        customers = customer_figures(journeys, fault["began_ns"], fault["ended_ns"])
        audit = {name: _worst_audit(measured.run, trial)[name] for name in ("broken", "unanswered", "unsettled")}
        named = {"block": trial["block"], "topology": topologies[label]["name"]}
        struck.append(Struck(**named, **customers, **{**fault, **audit}))  # type: ignore[typeddict-item] # by their names
    return {KIND: struck}


def fails_after(struck: Struck) -> bool:
    """Whether journeys still failed `OVER_WITHIN_S` after a fault had ended."""
    return not struck["over"] or struck["failing_s"] - struck["lasted_s"] > OVER_WITHIN_S


def _worst_audit(run: RunFiles, trial: TrialRecord) -> Fault:
    """Returns the fault of the first attempt that lost something, which no repetition undoes; else of the trial."""
    attempts = [one for one in run.trials if (one["block"], one["topology"]) == (trial["block"], trial["topology"])]
    lost = [one for one in attempts if set(failing_gates(one["gates"])) & set(AUDIT_GATES)]
    return (lost or [trial])[0]["fault"]


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of all trials; the gates on the data take every attempt into account."""
    gates, left_out = every_gate(run, figures)
    audited = [gate for gate in worst_of(run.trials) if gate["name"] in AUDIT_GATES]
    return [*(gate for gate in gates if gate["name"] not in AUDIT_GATES), *audited], left_out


def customer_figures(journeys: pl.DataFrame, began: int, ended: int) -> dict[str, Any]:
    """Computes the fields of `Struck` from journeys (`rows.JOURNEYS`) and the ends of a fault, Unix time, ns."""
    arrived = pl.col("intended_ns")
    ok, failed = journeys.filter(pl.col("outcome") == "ok"), journeys.filter(pl.col("outcome") != "ok")
    last_failed = int(failed["intended_ns"].max() or 0)  # type: ignore[arg-type] # a column of integers
    during = arrived.is_between(began, ended + LAST_S * NS_PER_S)
    messages = failed.select(error=pl.col("error").fill_null("")).sort("error")
    return {
        "journeys": journeys.height,
        "failed": _counts(failed, "outcome"),
        "failed_journeys": _counts(failed, "journey"),
        "messages": dict(list(_counts(messages, "error").items())[:MESSAGES]),
        "lasted_s": (ended - began) / NS_PER_S,
        "failing_s": max(0.0, (last_failed - began) / NS_PER_S),
        # If a fault outlasts the load and no journey failed, there is nothing to recover from.
        "over": not last_failed or max(last_failed, ended) < int(journeys["intended_ns"].max()) - LAST_S * NS_PER_S,  # type: ignore[arg-type]
        "before_ms": _latency_ms(ok.filter(arrived < began)),
        "during_ms": _latency_ms(ok.filter(during)),
    }


def _counts(rows: pl.DataFrame, column: str) -> dict[str, int]:
    counted = rows.group_by(column).len().sort(["len", column], descending=[True, False])
    return dict(counted.iter_rows())


def _latency_ms(rows: pl.DataFrame) -> dict[str, float]:
    if rows.is_empty():
        return {}
    return {name: rows.select(pl.col("latency_ns").quantile(at)).item() / NS_PER_MS for name, at in PERCENTILES.items()}
