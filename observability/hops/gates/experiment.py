"""Turns the gates of trials into verdicts on blocks and on the whole experiment."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import polars as pl

from hops.gates.limits import kind_of
from hops.gates.verdict import failing_gates, verdict_of, verdict_of_failed
from hops.run.documents.gate import Gate, Gated, LeftOut, TrialVerdict
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles
from hops.run.loads import is_closed, overloads

_OVER_BLOCKS = ("block_spread_share", "block_worst_share")
_FARTHEST_BY_CHANCE = 2.5
"""Maximum distance, in standard deviations, to which chance usually moves the farthest of a dozen blocks."""
_QUARTERS = 4
"""Number of parts into which the tape is cut to estimate the effect of chance."""


def experiment_gates(run: RunFiles) -> list[Gate]:
    """Evaluates the gates of the experiment: each trial gate by its worst trial, then gates over several trials.

    A trial that a later attempt replaces does not count; it stays in `verdicts`.
    """
    gates = worst_of(run.used)
    if len(run.used) > 1:
        compared = answers(run)
        gates += [*([] if compared is None else [compared]), code_changed(run.used)]
    if run.blocks > 1:
        gates += block_spread(run)
    return gates


def experiment_gates_left_out(run: RunFiles) -> list[LeftOut]:
    """Lists the gates that do not apply to this run or to some of its topologies, each with its reason."""
    without: dict[tuple[str, str], list[str]] = {}
    for trial in run.used:
        for row in trial["gates_left_out"]:
            without.setdefault((row["name"], row["reason"]), []).append(trial["topology"])
    if run.blocks > 1 and (full := _full(run)):
        without |= {(name, "an overloaded system fluctuates by itself"): full for name in _OVER_BLOCKS}
    left_out = []
    for (name, reason), topologies in without.items():
        some = [topology for topology in run.topologies if topology in topologies]
        where = "" if some == run.topologies else f"in {' and '.join(some)}, "
        left_out.append(LeftOut(name=name, reason=where + reason))
    if len(run.used) > 1 and run.blocks == 1:
        left_out += [LeftOut(name=name, reason="one block has no other block to differ from") for name in _OVER_BLOCKS]
    if len(run.used) > 1 and answers(run) is None:
        reason = "no two trials sent the same tape in an open loop without a failed journey"
        left_out.append(LeftOut(name="answers_differ", reason=reason))
    return left_out


def _full(run: RunFiles) -> list[str]:
    """Lists the arms whose load is more than the shop can handle: their journeys may fail."""
    return [label for label in run.topologies if overloads(run.manifest, label)]


def worst_of(trials: Iterable[Gated]) -> list[Gate]:
    """Finds the worst value of each gate over the trials, in the order of the run."""
    worst: dict[str, Gate] = {}
    for trial in trials:
        for gate in trial["gates"]:
            known = worst.get(gate["name"])
            if known is None or _badness(gate) > _badness(known):
                worst[gate["name"]] = gate
    return list(worst.values())


def answers(run: RunFiles) -> Gate | None:
    """Counts the distinct digests of the trials' answers, beyond one digest for each tape; the limit is 0.

    In a closed loop, trials reach different places on the tape, so answers are compared with the reference only. The
    same holds if journeys failed, because these have no answer. Returns None if no two trials can be compared.
    """
    given = [(run.tape_of(trial["topology"]), trial["answers_sha256"]) for trial in comparable_answers(run)]
    tapes, digests = {tape for tape, _ in given}, set(given)
    if len(given) == len(tapes):
        return None
    return kind_of("answers_differ").evaluate(len(digests) - len(tapes))


def comparable_answers(run: RunFiles) -> list[TrialRecord]:
    """Selects the trials of open loops in which no journey failed."""
    with_failures = set(run.journeys.filter(pl.col("outcome") != "ok").select("block", "topology").unique().iter_rows())
    open_loops = [label for label in run.topologies if not is_closed(run.manifest, label)]
    return [
        trial
        for trial in run.used
        if trial["topology"] in open_loops and (trial["block"], trial["topology"]) not in with_failures
    ]


def code_changed(trials: Sequence[TrialRecord]) -> Gate:
    """Counts the trials' distinct commits beyond the first; the limit is 0. A resumed experiment may run other code."""
    extra = len({trial["commit"] for trial in trials}) - 1
    return kind_of("code_changed").evaluate(extra)


def block_spread(run: RunFiles) -> list[Gate]:
    """Measures how far a topology's blocks are from equal repetitions, and how far the worst block is from all others.

    The first figure is the standard deviation of the median latency over the blocks, as a share, for the worst
    topology. The effect of chance is subtracted. The second is the distance of one block from the median of the blocks.
    A single bad block changes the first figure little, and makes the intervals of p99 too narrow (ADR 010).

    Each median is first divided by the geometric mean of the medians in its block, over all topologies at the same
    distance and with the same tape. Comparisons are made within blocks, so a change of the machine's speed that affects
    a whole block is harmless. With a single topology, there is nothing to divide by.

    Chance is estimated from quarters of the tape. All blocks replay the same tape, so the medians of two quarters may
    differ, and so may the medians of two blocks. The deviation of a block's quarter beyond these two effects is chance:
    the interaction in a two-way layout without replication.

    Overloaded arms are left out.
    """
    full = _full(run)
    if len(full) == len(run.topologies):
        return []
    arms = run.manifest.get("arms", {})
    near = {label: f"{arms.get(label, {}).get('rtt_ms') or 0:g} {run.tape_of(label)}" for label in run.topologies}
    beside_whom = pl.col("topology").replace_strict(near, return_dtype=pl.String).alias("near")
    length = pl.col("seq").max().over("topology") + 1  # arms at different rates have tapes of different lengths
    quarter = (pl.col("seq") * _QUARTERS // length).alias("quarter")
    looked_at = (pl.col("outcome") == "ok") & ~pl.col("topology").is_in(full)
    ok = run.journeys.filter(looked_at).with_columns(beside_whom, quarter)
    logarithm = pl.col("latency_ns").median().log().alias("log")
    whole = ok.group_by("topology", "near", "block").agg(logarithm).sort("topology", "block")  # so that sums repeat
    side_by_side = pl.len().over("near", "block") == pl.col("topology").n_unique().over("near")
    beside = pl.col("log").mean().over("near", "block").alias("beside")
    medians = whole.filter(side_by_side).with_columns(
        pl.when(pl.col("topology").n_unique().over("near") > 1).then(beside).otherwise(0.0)
    )
    quarters = ok.group_by("topology", "block", "quarter").agg(logarithm)
    worst = alone = None
    for (topology,), rows in medians.group_by("topology"):
        logs = rows["log"] - rows["beside"]
        spread, off = logs.var(), (logs - logs.median()).abs().max()
        if isinstance(spread, float) and isinstance(off, float):
            chance = _chance(quarters.filter(pl.col("topology") == topology).sort("block", "quarter"))
            worst = max(worst or 0.0, math.sqrt(max(spread - chance, 0.0)))
            alone = max(alone or 0.0, math.expm1(max(off - _FARTHEST_BY_CHANCE * math.sqrt(chance), 0.0)))
    return [kind_of(name).evaluate(value) for name, value in zip(_OVER_BLOCKS, (worst, alone), strict=True)]


def _chance(quarters: pl.DataFrame) -> float:
    """Computes how much variance chance adds to the logarithm of a block's median; 0 if quarters are missing."""
    blocks = quarters["block"].n_unique()
    if blocks < 2 or quarters.height < blocks * _QUARTERS:
        return 0.0
    medians = quarters["log"].to_numpy().reshape(blocks, _QUARTERS)
    alone = medians - medians.mean(axis=1, keepdims=True) - medians.mean(axis=0) + medians.mean()
    return float((alone**2).sum() / ((blocks - 1) * (_QUARTERS - 1)) / _QUARTERS)


def verdicts(run: RunFiles) -> list[TrialVerdict]:
    """Makes a row for each trial, including replaced ones, then one for each block: the worst of its used trials."""
    fastest = defaultdict[str, float](float)
    for trial in run.used:
        fastest[trial["topology"]] = max(fastest[trial["topology"]], trial.get("machine_speed", 0.0))
    rows = [
        TrialVerdict(
            block=trial["block"],
            topology=trial["topology"],
            attempt=trial["attempt"],
            used=trial["used"],
            verdict=verdict_of(trial["gates"]),
            reasons=failing_gates(trial["gates"]),
            machine_speed=trial["machine_speed"] / fastest[trial["topology"]]
            if "machine_speed" in trial and fastest[trial["topology"]]
            else None,
        )
        for trial in sorted(run.trials, key=lambda trial: (trial["block"], trial["position"], trial["attempt"]))
    ]
    for block in sorted({trial["block"] for trial in run.used}):
        inside = [trial for trial in run.used if trial["block"] == block]
        reasons = dict.fromkeys(reason for trial in inside for reason in failing_gates(trial["gates"]))
        rows.append(
            TrialVerdict(
                block=block,
                topology=None,
                attempt=None,
                used=True,
                verdict=verdict_of_failed(reasons),
                reasons=list(reasons),
                machine_speed=None,
            )
        )
    return rows


def _badness(gate: Gate) -> tuple[bool, bool, float]:
    value = gate["value"]
    return (not gate["ok"], value is None, (value or 0.0) - gate["limit"])
