"""The verdicts on the claims of studies, from the trials of their replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hops.analysis.either_order import mirror_hops
from hops.analysis.hop_differences import hop_differences
from hops.analysis.summary import Measured
from hops.budget.parts import EDGE, PROXY
from hops.conclusions.reasons import why
from hops.conclusions.wording import join_names
from hops.elements.numbers import plain, times
from hops.gates.experiment import experiment_gates
from hops.gates.limits import gate_failure
from hops.gates.verdict import failing_gates, verdict_of
from hops.kinds.studies.document import (
    LATENCY,
    METRICS,
    OF_AN_ORDER,
    OF_THE_ANSWERS,
    Claim,
    Metric,
    OtherClient,
    OtherLoad,
    Replayed,
    Study,
    Verdict,
    arm_label,
    other_clients,
    studies_in,
)
from hops.kinds.studies.figures import Figures
from hops.kinds.studies.verdict import Effect, Judgement, Saturation, holm, judge, judge_order, size_of
from hops.run.documents.estimate import Estimate
from hops.run.documents.gate import NOISY, VALID
from hops.run.files import RunFiles
from hops.run.loads import overloads
from hops.units import ALL

Decided = TypeVar("Decided")
"""What a claim is judged by."""
MAX_LEFT_OUT = 0.25
"""Share of the blocks that a claim may leave out because their trials are NOISY."""
UNITS_BY_COMPONENT: Mapping[Metric, str] = {
    "cpu_percent": "CPU of a journey by component, ms",
    "memory_mb": "Peak memory by component, MB",
}


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """Gives the pairs of arms that claims compare, each pair once; they share a tape."""
    pairs = [
        (arm_label(study["id"], claim["topologies"][0], load), arm_label(study["id"], claim["topologies"][1], load))
        for study in studies_in(run.manifest)
        for claim in study["claims"]
        for load in claim["loads"]
        if claim["metric"] != OF_AN_ORDER
    ]
    # If one claim says that left is faster, and another that right is faster, both need the same comparison.
    once = {frozenset(pair): pair for pair in reversed(pairs)}
    return [pair for pair in reversed(once.values()) if set(pair) <= set(run.topologies)]


def figures_of(measured: Measured) -> Mapping[str, list[Replayed]]:
    """Judges the claims of the studies, with a correction over all claims."""
    figures = Figures(measured)
    studies = [_judge_study(measured, study, figures) for study in studies_in(measured.run.manifest)]
    verdicts = [verdict for one in studies for verdict in one["verdicts"]]
    for verdict, p in zip(verdicts, holm([verdict["p"] for verdict in verdicts]), strict=True):
        verdict["p_holm"] = p
    return {"studies": studies}


def _judge_study(measured: Measured, study: Study, figures: Figures) -> Replayed:
    judged, run = _Judged(measured, study, figures), measured.run
    arms = [arm_label(study["id"], name, load) for load, one in study["loads"].items() for name in one["topologies"]]
    ran = {arm: arm for arm in arms if arm in measured.journeys}
    return Replayed(
        study=study,
        verdicts=[judged.verdict(claim) for claim in study["claims"]],
        figures=verdict_of(experiment_gates(run.of_arms(ran))) if ran else VALID,
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    measured: Measured
    study: Study
    figures: Figures

    def verdict(self, claim: Claim) -> Verdict:
        if claim["reason"]:
            return not_comparable(claim, claim["reason"])
        arms = [arm_label(self.study["id"], side, load) for load in claim["loads"] for side in claim["topologies"]]
        for arm in arms:
            if arm not in self.measured.journeys:
                return not_comparable(claim, f"the run has no arm {arm}")
        if claim["metric"] == OF_AN_ORDER:
            return self._order(claim)
        judgement, (effect, values), left_out = self._judge(claim, arms)
        differs = judgement.outcome == "contradicted" and judgement.p_unequal is None
        return Verdict(
            claim=claim,
            outcome=judgement.outcome,
            reason=judgement.reason,
            arms=arms,
            values=values,
            unit=METRICS[claim["metric"]][1],
            effect=_estimate(effect),
            difference=effect.difference,
            p=effect.p if judgement.p_unequal is None else judgement.p_unequal,
            p_holm=None,
            size=size_of(claim, effect),
            blocks=judgement.blocks,
            left_out=left_out,
            failed=self.figures.count_failed(claim["metric"], arms),
            beside=self._beside(claim, arms),
            why=self._why(claim["metric"], arms[-2:], effect.value) if differs else [],
            other_client=self._other_client(claim),
            other_loads=list(self._other_loads(claim)),
        )

    def _judge(self, claim: Claim, arms: list[str]) -> tuple[Judgement, tuple[Effect, list[float | None]], list[int]]:
        """Judges a claim by the effect, with failed journeys too if many failed, and by the trials' gates.

        Returns:
            The judgement, the effect with the figures of both sides, and the blocks that do not count because their
            trials are NOISY.
        """

        def decide(figures: Figures) -> tuple[Judgement, tuple[Effect, list[float | None]]]:
            effect, values = _effect(figures, claim["metric"], arms)
            judgement = judge(claim, effect)
            every = figures.effect_with_failures(claim["metric"], arms[0], arms[1])
            if every is not None and judge(claim, every).outcome != judgement.outcome:
                without = f"Without them: {judgement.outcome}."
                reason = f"Failed journeys decide: with them, the effect is {every.text}. {without}"
                judgement = Judgement("not shown", reason)
            return judgement, (effect, values)

        return self._require_sound(decide, arms, claim["metric"])

    def _require_sound(
        self, decide: Callable[[Figures], tuple[Judgement, Decided]], arms: list[str], metric: Metric
    ) -> tuple[Judgement, Decided, list[int]]:
        """Returns the judgement, or a judgement without a direction if the trials fail a gate that the metric needs.

        A few blocks with NOISY trials are left out, if the judgement is the same with them.
        """
        judgement, by = decide(self.figures)
        run = self.measured.run.of_arms({arm: arm for arm in arms})
        gates = experiment_gates(run)
        trust = verdict_of(gates)
        enough = (VALID, NOISY) if metric == OF_THE_ANSWERS else (VALID,)
        if trust in enough or judgement.outcome == "not shown":
            return judgement, by, []
        noisy = sorted({trial["block"] for trial in run.used if failing_gates(trial["gates"])})
        if trust == NOISY and 0 < len(noisy) <= MAX_LEFT_OUT * run.blocks:
            calm, by_calm = decide(Figures(self.measured, noisy))
            if calm.outcome == judgement.outcome and verdict_of(experiment_gates(run.without_blocks(noisy))) == VALID:
                return calm, by_calm, noisy
        failing = join_names([gate_failure(gate) for gate in gates if not gate["ok"]])
        return Judgement("not shown", f"Its trials are {trust}: {failing}. Without that: {judgement.outcome}."), by, []

    def _order(self, claim: Claim) -> Verdict:
        """Judges an order of protocols by the number of users from which the throughput of each levels off."""
        users = [self.study["loads"][load]["users_replayed"] for load in claim["loads"]]
        sides = [[arm_label(self.study["id"], side, load) for load in claim["loads"]] for side in claim["topologies"]]
        arms = [arm for side in sides for arm in side]

        def decide(figures: Figures) -> tuple[Judgement, tuple[list[Saturation], float | None, tuple[int, int] | None]]:
            saturations = [figures.saturation(side, claim["tolerance"] or 0.0) for side in sides]
            judgement, p, turned = judge_order(saturations)
            return judgement, (saturations, p, turned)

        judgement, (saturations, p, turned), left_out = self._require_sound(decide, arms, claim["metric"])
        levels = [
            f"{side} {saturation.describe(users)}"
            for side, saturation in zip(claim["topologies"], saturations, strict=True)
        ]
        why = [] if turned is None else self._why("cpu_percent", [sides[side][-1] for side in turned], None)
        return {
            **not_comparable(claim, ""),
            "outcome": judgement.outcome,
            "reason": f"{judgement.reason} Users from which throughput levels off: {', '.join(levels)}.",
            "arms": arms,
            "left_out": left_out,
            "why": why if judgement.outcome == "contradicted" else [],
            "p": p,
        }

    def _beside(self, claim: Claim, arms: list[str]) -> str:
        """Gives the figure in the study's own terms, if the verdict uses another figure."""
        if claim["metric"] == OF_THE_ANSWERS:
            (_, mine), (_, other) = self.figures.bytes_by_part(arms[0], arms[1])
            return f"Before compression: {times(mine / other)}." if mine and other else ""
        if claim["metric"].startswith(LATENCY):
            parts = [self.measured.topologies[arm]["journeys"][ALL]["budget_ms"]["mean"] for arm in arms[:2]]
            edges = [part[PROXY + EDGE] for part in parts if PROXY + EDGE in part]
            return f"The edge's part of a journey: {' and '.join(map(plain, edges))} ms." if len(edges) == 2 else ""
        if claim["metric"] == "cpu_percent":
            mine, other = (self.figures.cores(arm) for arm in arms)
            return f"CPU in use: {plain(mine)} and {plain(other)} % of a core." if mine and other else ""
        return ""

    def _why(self, metric: Metric, arms: list[str], effect: float | None) -> list[str]:
        """Explains a figure that contradicts a claim by measurements of its parts."""
        figures = self.figures
        if metric == "throughput":  # of a full system, in which latencies only say where journeys wait
            metric = "cpu_percent"
        if metric in UNITS_BY_COMPONENT:
            sides = [figures.by_component(metric, arm) for arm in arms]
            return [f"{UNITS_BY_COMPONENT[metric]}: {_side_by_side(*sides)}."]
        if metric == OF_THE_ANSWERS:
            mine, other = figures.bytes_by_part(arms[0], arms[1])
            texts = [f"{plain(came)} bytes ({plain(raw)} before compression)" for came, raw in (mine, other)]
            return [f"A journey's answers have {join_names(texts)}."]
        if metric == "success_rate":
            return [f"Of all journeys, in percent: {_side_by_side(*(figures.failures(arm) for arm in arms))}."]
        if metric == "payload_effect":
            return self._why_faster(arms, None)
        return self._why_faster(arms, turned=(effect or 1.0) > 1)

    def _why_faster(self, arms: list[str], turned: bool | None) -> list[str]:
        """Explains by budgets why the left is faster; if `turned`, the right; if None, the faster one in traces."""
        measured = self.measured
        rows = hop_differences(measured.hops, measured.load, measured.blocks, [(arms[0], arms[1])])
        row = next((row for row in rows if row["journey"] == ALL), None)
        if turned is None:
            turned = row is not None and row["difference_ms"] > 0
        if row is not None and turned:
            row = mirror_hops(row)
        waves = [measured.topologies[arm]["journeys"][ALL]["waves_mean"] for arm in (arms[::-1] if turned else arms)]
        reasons = why(row, waves)
        if row and None not in row["ci95"] and any(overloads(measured.run.manifest, arm) for arm in arms):
            reasons.append("Under this load, these times include waiting for the CPU.")
        return reasons

    def _other_client(self, claim: Claim) -> OtherClient | None:
        """Judges the claim with other clients, if such arms ran."""
        load, sides = claim["loads"][0], claim["topologies"]
        both = (sides, other_clients(sides))
        arms, changed = ([arm_label(self.study["id"], side, load) for side in each] for each in both)
        others = [other if other in self.measured.journeys else arm for arm, other in zip(arms, changed, strict=True)]
        if others == arms or others[0] == others[1] or len(claim["loads"]) > 1:
            return None
        judgement, (effect, _), _ = self._judge(claim, others)
        estimate = _estimate(effect)
        return None if estimate is None else OtherClient(arms=others, effect=estimate, outcome=judgement.outcome)

    def _other_loads(self, claim: Claim) -> Iterator[OtherLoad]:
        for load, sides in claim["also"].items():
            arms = [arm_label(self.study["id"], side, load) for side in sides]
            if not set(arms) <= set(self.measured.journeys):
                continue
            judgement, (effect, _), _ = self._judge(claim, arms)
            if (estimate := _estimate(effect)) is not None:
                yield OtherLoad(load=load, arms=arms, effect=estimate, outcome=judgement.outcome)


def _side_by_side(left: Mapping[str, float], right: Mapping[str, float]) -> str:
    """Lists the amounts of both sides, largest differences first: `order 1.2 and 0.8, product 0.4 and 0.5`."""
    names = sorted(left.keys() | right.keys(), key=lambda name: -abs(left.get(name, 0.0) - right.get(name, 0.0)))
    return ", ".join(f"{name} {plain(left.get(name, 0.0))} and {plain(right.get(name, 0.0))}" for name in names)


def _effect(figures: Figures, metric: Metric, arms: Sequence[str]) -> tuple[Effect, list[float | None]]:
    if metric == "payload_effect":
        return figures.payload_effect(arms[::2], arms[1::2])
    return figures.effect(metric, arms[0], arms[1])


def _estimate(effect: Effect) -> Estimate | None:
    return None if effect.value is None else Estimate(value=effect.value, ci95=list(effect.interval))


def not_comparable(claim: Claim, reason: str) -> Verdict:
    """Returns the verdict on a claim that nothing here can decide."""
    return Verdict(
        claim=claim,
        outcome="not comparable",
        reason=f"{reason[:1].upper()}{reason[1:]}.",
        arms=[],
        values=[],
        unit="",
        effect=None,
        difference=False,
        p=None,
        p_holm=None,
        size=None,
        blocks=None,
        left_out=[],
        failed=[],
        beside="",
        why=[],
        other_client=None,
        other_loads=[],
    )
