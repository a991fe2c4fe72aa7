"""The verdicts on the claims of studies, from the trials of their replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hops.analysis.hop_differences import hop_differences
from hops.analysis.pairs import mirror_hops
from hops.analysis.summary import Measured
from hops.conclusions.reasons import why
from hops.elements.numbers import plain, times
from hops.gates.experiment import experiment_gates
from hops.gates.verdict import verdict_of
from hops.kinds.studies.document import (
    NAIVE,
    Claim,
    Naive,
    Replayed,
    Study,
    Verdict,
    arm_label,
    studies_in,
)
from hops.kinds.studies.figures import UNITS, Figures
from hops.kinds.studies.verdict import Effect, holm, judge, lies_inside
from hops.run.documents.estimate import Estimate
from hops.run.documents.gate import VALID
from hops.run.files import RunFiles
from hops.statistics.over_blocks import NO_INTERVAL, refusal
from hops.units import ALL

_ABSOLUTE = "a number of users at which a shop is full belongs to its machine, and is no verdict"


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """The arms that claims compare, each two once; they share a tape."""
    pairs = [
        (arm_label(study["id"], claim["topologies"][0], load), arm_label(study["id"], claim["topologies"][1], load))
        for study in studies_in(run.manifest)
        for claim in study["claims"]
        for load in claim["loads"]
        if claim["right"] is not None
    ]
    # One claim says that left is faster, another one that right is: the same comparison.
    once = {frozenset(pair): pair for pair in reversed(pairs)}
    return [pair for pair in reversed(once.values()) if set(pair) <= set(run.topologies)]


def figures_of(measured: Measured) -> Mapping[str, list[Replayed]]:
    """The studies and the verdicts on their claims, corrected over all of them."""
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
    """The claims of one study, each judged by itself."""

    measured: Measured
    study: Study
    figures: Figures

    def verdict(self, claim: Claim) -> Verdict:
        if claim["reason"]:
            return _none(claim, claim["reason"])
        arms = [arm_label(self.study["id"], side, load) for load in claim["loads"] for side in claim["topologies"]]
        for arm in arms:
            if arm not in self.measured.journeys:
                return _none(claim, f"the run has no arm {arm}")
        if claim["right"] is None:
            return self._saturation(claim, arms)
        if claim["metric"] == "payload_effect":
            effect, values = self.figures.payload_effect(arms[::2], arms[1::2])
        else:
            effect, values = self.figures.effect(claim["metric"], arms[0], arms[1])
        found = judge(claim, effect)
        other_way = found.outcome == "contradicted" and found.p is None
        latency = claim["metric"].startswith("latency_")
        explicable = other_way and (latency or claim["metric"] == "throughput")
        return Verdict(
            claim=claim,
            outcome=found.outcome,
            reason=found.reason,
            arms=arms,
            values=values,
            unit=UNITS[claim["metric"]],
            effect=_estimate(effect),
            difference=effect.difference,
            p=effect.p if found.p is None else found.p,
            p_holm=None,
            inside=lies_inside(claim["value"], effect.interval),
            blocks=found.blocks,
            beside=self._beside(claim, arms),
            why=self._why(arms[:2], turned=(effect.value > 1) == latency) if explicable and effect.value else [],
            naive=self._naive(claim) if found.outcome != "holds" else None,
        )

    def _saturation(self, claim: Claim, arms: list[str]) -> Verdict:
        users = [self.study["loads"][load]["users_replayed"] for load in claim["loads"]]
        full, few = self.figures.saturation(arms, users), refusal(len(self.figures.blocks(*arms)), 1_000_000, None)
        told = f"levels off from {full} users on" if full else f"does not level off up to {users[-1]} users"
        here = f"What {claim['left']} does here {few}" if few else f"Here {claim['left']} {told}"
        verdict = _none(claim, f"{_ABSOLUTE}. {here} (of {', '.join(map(str, users))})")
        return {**verdict, "arms": arms, "values": [full], "unit": UNITS[claim["metric"]]}

    def _beside(self, claim: Claim, arms: list[str]) -> str:
        """What to know beside the figure that the claim is about."""
        if claim["metric"] == "payload_bytes":
            raw = self.figures.raw_bytes(arms[0], arms[1])
            return f"Before compression: {times(raw)}." if raw else ""
        if claim["metric"] == "cpu_percent":
            mine, other = (self.figures.cpu_ms(arm) for arm in arms)
            if mine and other:
                return f"For each journey {plain(mine)} and {plain(other)} ms of CPU: {times(mine / other)}."
        return ""

    def _why(self, arms: list[str], *, turned: bool) -> list[str]:
        """Which parts of the budgets make the faster side faster, which is the right one if turned."""
        measured = self.measured
        rows = hop_differences(measured.hops, measured.load, measured.blocks, [(arms[0], arms[1])])
        row = next((row for row in rows if row["journey"] == ALL), None)
        if row is not None and turned:
            row = mirror_hops(row)
        waves = [measured.topologies[arm]["journeys"][ALL]["waves_mean"] for arm in (arms[::-1] if turned else arms)]
        return why(row, waves)

    def _naive(self, claim: Claim) -> Naive | None:
        """The verdict if clients make one request per item, where such arms ran."""
        load, sides = claim["loads"][0], claim["topologies"]
        arms = [arm_label(self.study["id"], side, load) for side in sides]
        naive = [arm_label(self.study["id"], f"{side}{NAIVE}", load) for side in sides]
        arms = [other if other in self.measured.journeys else arm for arm, other in zip(arms, naive, strict=True)]
        if not set(arms) & set(naive):
            return None
        effect, _ = self.figures.effect(claim["metric"], arms[0], arms[1])
        estimate = _estimate(effect)
        return None if estimate is None else Naive(arms=arms, effect=estimate, outcome=judge(claim, effect).outcome)


def _estimate(effect: Effect) -> Estimate | None:
    return None if effect.value is None else Estimate(value=effect.value, ci95=list(effect.interval))


def _none(claim: Claim, reason: str) -> Verdict:
    return Verdict(
        claim=claim,
        outcome="not comparable",
        reason=f"{reason[0].upper()}{reason[1:]}.",
        arms=[],
        values=[],
        unit="",
        effect=None,
        difference=False,
        p=None,
        p_holm=None,
        inside=lies_inside(None, NO_INTERVAL),
        blocks=None,
        beside="",
        why=[],
        naive=None,
    )
