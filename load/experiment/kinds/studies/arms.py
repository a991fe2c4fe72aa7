"""Makes the plan of a replay from the studies' files: an arm for each topology under each load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiment.errors import UsageError
from experiment.kinds.studies.page import digest_rules
from experiment.kinds.studies.study import LoadEntry, Scale, StudyFile
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.own_load import OwnLoad, Sending
from experiment.plan.profiles import Profile
from experiment.plan.workload import mix_of, workload_file
from hops.kinds.studies.document import KIND, Study, StudyLoad, arm_label
from mesh.description.switches import MAX_CONNECTIONS, SWITCHES
from mesh.description.topology import load_topology

TRACE = "0.05"
"""Share of journeys to trace; small, because closed loops have many journeys."""
MIN_S = 1.0


@dataclass(frozen=True, slots=True)
class StudyProfile:
    """The length of a replay; the factor `length` applies in addition to the study's own scale."""

    name: str
    blocks: int
    length: float
    warmup_s: float


PROFILES = {
    profile.name: profile
    for profile in (
        StudyProfile("smoke", blocks=1, length=0.25, warmup_s=1),
        StudyProfile("full", blocks=4, length=1.0, warmup_s=2),
    )
}


def arms_of(study: StudyFile, profile: StudyProfile) -> tuple[Study, tuple[Arm, ...]]:
    """Returns a study's entry for the manifest, and the arms of its replay; raises UsageError if one cannot run."""
    arms: list[Arm] = []
    loads: dict[str, StudyLoad] = {}
    for name, entry in study.replay.loads.items():
        own = _own_load(f"{study.id}-{name}", entry, study.replay.scale, profile)
        loads[name] = _describe_load(entry, own)
        for topology in entry.topologies:
            label = arm_label(study.id, topology, name)
            arms.append(_arm(label, topology, {**study.replay.switches, **entry.switches}, own))
    about = Study(
        id=study.id,
        title=study.title,
        authors=study.authors,
        year=study.year,
        venue=study.venue,
        scale=study.replay.scale.text,
        not_replayed=study.replay.not_replayed,
        loads=loads,
        claims=study.claim_documents(),
    )
    return about, tuple(arms)


def studies_plan(studies: Sequence[StudyFile], profile: StudyProfile, blocks: int, seed: int) -> Plan:
    """Makes the plan for replaying studies; each block has the arms of all. Raises UsageError if an arm cannot run."""
    replays = [arms_of(study, profile) for study in studies]
    arms = tuple(arm for _, own in replays for arm in own)
    return Plan(
        kind=KIND,
        name=f"{KIND}-{studies[0].id}" if len(studies) == 1 else KIND,
        arms=arms,
        blocks=blocks,
        profile=Profile(profile.name, math.ceil(profile.warmup_s), 0, 0.0, parity_samples=3),
        seed=seed,
        # The parity check before each load sends this workload's journeys and compares the answers with the data.
        workload=workload_file("document" if any(_reads_documents(arm) for arm in arms) else "default"),
        about={"studies": [about for about, _ in replays], "study_rules": digest_rules()},
        ratios=True,
    )


def _arm(label: str, topology: str, switches: Mapping[str, str | int], own: OwnLoad) -> Arm:
    unknown = [name for name in switches if name not in SWITCHES]
    if unknown:
        raise UsageError(f"arm {label}: there is no switch {unknown[0]}; valid: {', '.join(SWITCHES)}")
    given = {"trace": TRACE, **{name: str(value) for name, value in switches.items()}}
    if own.sending.closed is not None:
        given.setdefault("connections", str(min(MAX_CONNECTIONS, own.sending.closed.vus)))
    arm = arm_of(label, load_topology(topology, updates=given.get("updates", "off")), given)
    return Arm(label, arm.topology, arm.switches, load=own)


def _own_load(name: str, entry: LoadEntry, scale: Scale, profile: StudyProfile) -> OwnLoad:
    by_time = scale.by if "time" in scale.divides else 1.0
    by_users = scale.by if "users" in scale.divides else 1.0
    duration_s = max(MIN_S, entry.duration_s / by_time * profile.length)
    if entry.arrivals is not None:
        # The arrival rate does not depend on the profile's length: the number of users shrinks with the duration.
        rate = entry.arrivals / entry.duration_s * by_time / by_users
        return OwnLoad(
            name, _mix(entry), Sending(profile.warmup_s, duration_s, rate, overload=entry.overload), "constant"
        )
    closed = ClosedLoop(max(1, round((entry.users or 1) / by_users)), entry.think_s)
    most = max(entry.steps, default=1.0)
    steps = tuple(step / most for step in entry.steps)
    sending = Sending(profile.warmup_s, duration_s, closed.tape_rate, closed, steps, entry.overload)
    return OwnLoad(name, _mix(entry), sending)


def _reads_documents(arm: Arm) -> bool:
    return arm.load is not None and any(journey == "document" for journey, _, _ in arm.load.mix)


def _mix(entry: LoadEntry) -> tuple[tuple[str, str, float], ...]:
    if isinstance(entry.mix, str):
        return tuple((*share, weight) for share, weight in mix_of(workload_file(entry.mix)).items())
    shares = (name.partition("/") for name in entry.mix)
    return tuple((journey, channel, entry.mix[f"{journey}/{channel}"]) for journey, _, channel in shares)


def _describe_load(entry: LoadEntry, own: OwnLoad) -> StudyLoad:
    sending = own.sending
    replayed = sending.closed.vus if sending.closed else round(sending.rate * sending.duration_s)
    return StudyLoad(
        about=entry.about,
        sends="the default mix" if isinstance(entry.mix, str) else ", ".join(entry.mix),
        arrivals=entry.arrivals is not None,
        users=entry.arrivals or entry.users or 0,
        users_replayed=replayed,
        duration_s=entry.duration_s,
        duration_replayed_s=round(sending.duration_s, 2),
        topologies=entry.topologies,
    )
