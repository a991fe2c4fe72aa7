"""The plan of an experiment: which arms run, in how many blocks, and in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from experiment.arguments import refuse_twice
from experiment.errors import UsageError
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.own_load import OwnLoad, Sending
from experiment.plan.probes import Probe
from experiment.plan.profiles import Profile
from experiment.results.folder import require_folder_name
from hops.run.documents import SCHEMA
from mesh.components.trial import as_it_runs, require_fit
from mesh.description.network import Network
from mesh.description.switches import HTTP3, SWITCHES, Switches, parse_switches
from mesh.description.topology import Topology
from mesh.errors import SwitchError

PLAN = "plan.json"
"""Name of the file in which a run stores its plan."""
MAX_BLOCKS = 100
MIN_FIRST_STAGE = 5
"""Minimum number of blocks in a first stage. With fewer, Student's t is so wide that the second stage costs more than
the first saves."""
MAX_ARMS = 30
"""Maximum number of arms in a comparison."""


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm of an experiment: a topology with its switches and its load.

    Attributes:
        label: The arm's name in the results: its topology's name, unless a topology has several arms.
        topology: The topology that runs; a target other than the shop is a topology without an entry.
        rate: Journeys per second on the arm's tape; None for the profile's rate.
        without: Kind of journey that the arm's tape lacks; empty if it has all kinds.
        load: The arm's own load; None for the plan's load.
        fault: Fault that strikes the topology during the load; empty for no fault.
        keeps_traces: Whether the arm's trials keep the traces of all sampled journeys.
        probe: What the arm's trials observe in addition to the journeys; None for no probe.
    """

    label: str
    topology: Topology
    switches: Switches
    rate: float | None = None
    without: str = ""
    load: OwnLoad | None = None
    fault: str = ""
    keeps_traces: bool = False
    probe: Probe | None = None

    @property
    def tape(self) -> str:
        """Name of the arm's tape; arms with the same load share a tape."""
        if self.load is not None:
            return f"load-{self.load.name}"
        rate = "" if self.rate is None else f"-{self.rate:g}"
        return f"load{rate}{f'-without-{self.without}' if self.without else ''}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned trial: its block, its position within the block (from 1), and its arm."""

    block: int
    position: int
    arm: Arm

    @property
    def name(self) -> str:
        """Name of the trial's folder."""
        return f"{self.block}-{self.arm.label}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an experiment.

    Attributes:
        kind: Kind of the experiment, as in manifests and reports: one of `hops.kinds.kinds()`.
        name: Part of the results folder's name that follows the time.
        blocks: Number of blocks; a block runs every arm once.
        profile: Length and rate of a trial.
        seed: Seed of the tape, of the order within blocks, and of the bootstrap.
        closed: The closed loop that takes the journeys; None for an open loop, where they start at the tape's times.
        precision: How far a confidence interval may extend from the ratio of two arms' p50, as a share. `blocks` is
            then the length of the first stage, which decides the total. None if `blocks` is the total.
        about: Manifest entries that only this kind of experiment has.
        chosen: Whether the experiment chooses further arms from the results of these arms.
        ratios: Whether only ratios count, of arms under the same load and in the same block.
    """

    kind: str
    name: str
    arms: tuple[Arm, ...]
    blocks: int
    profile: Profile
    seed: int
    workload: Path
    closed: ClosedLoop | None = None
    precision: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    chosen: bool = False
    ratios: bool = False

    def __post_init__(self) -> None:
        labels = [arm.label for arm in self.arms]
        for name in (self.name, *labels):
            require_folder_name(name)
        refuse_twice(labels)
        few = self.compares and not any(arm.load for arm in self.arms)  # only arms under the same load are compared
        if not labels or (few and len(labels) > MAX_ARMS):
            raise UsageError(f"an experiment cannot have {len(labels)} arms: give from 1 to {MAX_ARMS}")
        if not 1 <= self.blocks <= MAX_BLOCKS:
            raise UsageError(f"blocks={self.blocks} is out of range: give an integer from 1 to {MAX_BLOCKS}")
        if self.precision is not None:
            if len(labels) < 2:
                raise UsageError("precision= applies to the ratio of two topologies: give at least two topologies")
            if self.blocks < MIN_FIRST_STAGE:
                raise UsageError(
                    f"blocks={self.blocks} is too few to decide how many blocks precision= takes: give at least "
                    f"{MIN_FIRST_STAGE}"
                )
        for arm in self.arms:
            require_fit(arm.topology, arm.switches)
        scales = {arm.switches.scale for arm in self.arms}
        if len(scales) > 1:
            raise UsageError("all topologies must use the same scale, because one tape fits one scale")

    @property
    def compares(self) -> bool:
        """Whether the plan's arms are compared; arms with faults or probes, or chosen one by one, are not."""
        return not self.chosen and not any(arm.fault or arm.probe for arm in self.arms)

    @property
    def loads_of_ratios(self) -> Mapping[str, str] | None:
        """Name of each arm's tape, if only ratios count; None otherwise."""
        return {arm.label: arm.tape for arm in self.arms} if self.ratios else None

    @property
    def may_differ(self) -> Sequence[str]:
        """Kinds of journeys whose answers may differ between arms."""
        return tuple(self.about.get("allow_differences", ()))

    @property
    def staying_on_http2(self) -> list[str]:
        """Names of the topologies whose clients speak HTTP/2 while other topologies' clients speak HTTP/3."""
        if all(arm.switches.http != HTTP3 for arm in self.arms):
            return []
        return list(dict.fromkeys(arm.topology.name for arm in self.arms if arm.switches.http != HTTP3))

    def sending(self, arm: Arm) -> Sending:
        """Returns how the load of an arm is sent."""
        if arm.load is not None:
            return arm.load.sending
        profile, closed = self.profile, self.closed
        rate = arm.rate or (profile.rate if closed is None else closed.tape_rate)
        return Sending(profile.warmup_s, profile.duration_s, rate, closed)

    @property
    def scale(self) -> int:
        """Scale of the data, which all arms share."""
        return self.arms[0].switches.scale

    @property
    def payload(self) -> str:
        """Size of the documents that journeys read, which all arms share."""
        return self.arms[0].switches.payload

    def trials(self) -> list[Planned]:
        """Returns all trials in order: block after block, with each block's arms shuffled by the seed.

        If arms are compared under several loads, the loads are shuffled, and the arms within each. A machine that
        changes its speed over minutes then affects all arms that are compared.
        """
        trials: list[Planned] = []
        for block in range(1, self.blocks + 1):
            drawn = random.Random(f"{self.seed}/order/{block}")
            by_load: dict[str, list[Arm]] = {}
            for arm in self.arms:
                by_load.setdefault(arm.load.name if arm.load and self.compares else "", []).append(arm)
            groups = list(by_load.values())
            drawn.shuffle(groups)
            for group in groups:
                drawn.shuffle(group)
            order = [arm for group in groups for arm in group]
            trials += [Planned(block, position, arm) for position, arm in enumerate(order, start=1)]
        return trials

    def as_document(self) -> dict[str, Any]:
        """Returns the plan as a document for disk, from which an interrupted experiment resumes."""
        return {"schema": SCHEMA, **_PLAN.dump_python(self, mode="json")}


_PLAN = TypeAdapter(Plan)
_FIELDS = {field.name for field in fields(Plan)}


def plan_of(document: Mapping[str, Any]) -> Plan:
    """Makes a plan from what `Plan.as_document` returned; raises UsageError if another version wrote it."""
    if document.get("schema") != SCHEMA:
        raise UsageError(
            f"this experiment has schema {document.get('schema')} and this version writes schema {SCHEMA}: "
            "resume it with the version that started it, or start a new one"
        )
    return _PLAN.validate_python({name: value for name, value in document.items() if name in _FIELDS})


def arms_of(topologies: Sequence[Topology], switches: Switches) -> tuple[Arm, ...]:
    """Makes an arm for each topology; all arms have the same switches as far as `in_comparison` allows."""
    return tuple(Arm(topology.name, topology, in_comparison(topology, switches, topologies)) for topology in topologies)


_NETWORK = ("network", "rtt", "bandwidth")
SENT = ("trace", "http", "connections", "reuse", "visit", *_NETWORK)
"""Switches of the load generator, which also apply to targets other than the shop."""


def is_target(topology: Topology) -> bool:
    """Returns whether this is a target other than the shop, which already runs and whose components are unknown."""
    return not topology.entry


def read_switches(
    topologies: Sequence[Topology], given: Mapping[str, str | None], networks: Mapping[str, Network] | None = None
) -> Switches:
    """Reads the switches of topologies; targets other than the shop have only the load generator's switches.

    Args:
        networks: The network of each channel for which the workload specifies one.

    Raises:
        SwitchError: A switch has an invalid value.
    """
    if not is_target(topologies[0]):
        return parse_switches(networks, **given)
    read = {SWITCHES[name].field: SWITCHES[name].read(name, value) for name in SENT if (value := given.get(name))}
    own = {} if any(given.get(name) for name in _NETWORK) else dict(networks or {})
    return replace(Switches(edge="none", networks=own), **read)


def in_comparison(topology: Topology, switches: Switches, compared: Sequence[Topology]) -> Switches:
    """Returns the switches of a topology in a comparison with others.

    gRPC does not run over HTTP/3: if the clients of other topologies speak HTTP/3, clients that speak only gRPC stay on
    HTTP/2. Clients that speak framed Thrift have no edge.
    """
    if topology in compared:
        switches = as_it_runs(topology, switches)
    if switches.http != HTTP3 or not topology.speaks_grpc_only or all(one.speaks_grpc_only for one in compared):
        return switches
    return replace(switches, http=2)


def arm_of(
    label: str,
    topology: Topology,
    given: Mapping[str, str | None],
    networks: Mapping[str, Network] | None = None,
    *,
    compared: Sequence[Topology] = (),
    rate: float | None = None,
) -> Arm:
    """Makes an arm from its own switches.

    Args:
        compared: The topologies of all arms.
        rate: Journeys per second on the arm's tape; None for the profile's rate.

    Raises:
        UsageError: A switch is invalid, or the topology cannot run with the switches; the message names the arm.
    """
    try:
        switches = read_switches([topology], given, networks)
        arm = Arm(label, topology, in_comparison(topology, switches, compared), rate)
        require_fit(topology, arm.switches)
    except SwitchError as error:
        raise UsageError(f"arm {label}: {error}") from error
    return arm


DATA_SEED = 1
"""Seed of the data; the user's seed is for the tape, the order and the bootstrap."""
