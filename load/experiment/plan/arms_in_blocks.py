"""What an experiment is going to do: which arms, in how many blocks, in which order."""

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
"""The file in which a run keeps its plan."""
MAX_BLOCKS = 100
MIN_FIRST_STAGE = 5
"""Blocks of a first stage: with fewer, Student's t is so wide that the second stage costs more than the first saves."""
MAX_ARMS = 30
"""A pair must stay readable in a table and usable as a folder's name."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the things that an experiment compares.

    Attributes:
        label: Name in the results; its topology's name, unless one topology runs in several ways.
        topology: The topology that runs; a target that is not the shop is one without an entry.
        switches: The switches that it runs with.
        rate: Journeys a second of its tape; None for the profile's.
        without: Kind of journey that its tape lacks; empty for none.
        load: A load of its own; None for the plan's.
        fault: What is done to it during the load; empty for nothing.
        keeps_traces: Whether its trials keep the traces of all sampled journeys.
        probe: What its trials observe besides the journeys; None for nothing.
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
        """Name of the tape that it replays, which arms with the same load share."""
        if self.load is not None:
            return f"load-{self.load.name}"
        rate = "" if self.rate is None else f"-{self.rate:g}"
        return f"load{rate}{f'-without-{self.without}' if self.without else ''}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial that is to be: its block, its place within the block (from 1), and what runs."""

    block: int
    position: int
    arm: Arm

    @property
    def name(self) -> str:
        """Name of the trial's folder."""
        return f"{self.block}-{self.arm.label}"


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment before it runs.

    Attributes:
        kind: Kind of the experiment, as manifests and reports name it: one of `hops.kinds.kinds()`.
        name: Name of the results folder, after its time.
        arms: The arms that are compared.
        blocks: Number of blocks, in which each arm runs once.
        profile: Length and rate of a trial.
        seed: Seed of the tape, of the order within blocks, and of the bootstrap.
        workload: File of the workload, from which the tapes are made once.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
        precision: How far intervals may reach beyond the ratio of two arms' p50, as a share; `blocks` are then those of
            the first stage, which decides how many there are in all. None if `blocks` are all.
        about: What the manifest says beside what every run's does.
        chosen: Whether the kind chooses further arms by what these measure.
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

    def __post_init__(self) -> None:
        labels = [arm.label for arm in self.arms]
        for name in (self.name, *labels):
            require_folder_name(name)
        refuse_twice(labels)
        few = self.compares and not any(arm.load for arm in self.arms)  # only arms under one load are compared
        if not labels or (few and len(labels) > MAX_ARMS):
            raise UsageError(f"{len(labels)} topologies are too many: give from 1 to {MAX_ARMS}")
        if not 1 <= self.blocks <= MAX_BLOCKS:
            raise UsageError(f"blocks={self.blocks} is out of range: give an integer from 1 to {MAX_BLOCKS}")
        if self.precision is not None:
            if len(labels) < 2:
                raise UsageError("precision= is about the ratio of two topologies: give at least two")
            if self.blocks < MIN_FIRST_STAGE:
                raise UsageError(
                    f"blocks={self.blocks} are too few to decide on how many precision= takes: give at least "
                    f"{MIN_FIRST_STAGE}"
                )
        for arm in self.arms:
            require_fit(arm.topology, arm.switches)
        scales = {arm.switches.scale for arm in self.arms}
        if len(scales) > 1:
            raise UsageError("all topologies must use the same scale, because one tape fits one scale")

    @property
    def compares(self) -> bool:
        """Whether its arms are compared: faults are not, nor are arms that follow from each other."""
        return not self.chosen and not any(arm.fault or arm.probe for arm in self.arms)

    @property
    def may_differ(self) -> Sequence[str]:
        """Kinds of journey whose answers may differ between arms."""
        return tuple(self.about.get("allow_differences", ()))

    @property
    def staying_on_http2(self) -> list[str]:
        """Names of the topologies whose clients speak HTTP/2 beside others' that speak HTTP/3."""
        if all(arm.switches.http != HTTP3 for arm in self.arms):
            return []
        return list(dict.fromkeys(arm.topology.name for arm in self.arms if arm.switches.http != HTTP3))

    def sending(self, arm: Arm) -> Sending:
        """How the load of an arm is sent."""
        if arm.load is not None:
            return arm.load.sending
        profile, closed = self.profile, self.closed
        rate = arm.rate or (profile.rate if closed is None else closed.tape_rate)
        return Sending(profile.warmup_s, profile.duration_s, rate, closed)

    @property
    def scale(self) -> int:
        """Size of the data, which all arms share."""
        return self.arms[0].switches.scale

    @property
    def payload(self) -> str:
        """Size of the documents that journeys read, which all arms share."""
        return self.arms[0].switches.payload

    def trials(self) -> list[Planned]:
        """Every trial in its order: block after block, inside of each the arms shuffled by the seed."""
        trials: list[Planned] = []
        for block in range(1, self.blocks + 1):
            order = list(self.arms)
            random.Random(f"{self.seed}/order/{block}").shuffle(order)
            trials += [Planned(block, position, arm) for position, arm in enumerate(order, start=1)]
        return trials

    def as_document(self) -> dict[str, Any]:
        """The plan as it is kept on disk, so that an interrupted experiment can go on."""
        return {"schema": SCHEMA, **_PLAN.dump_python(self, mode="json")}


_PLAN = TypeAdapter(Plan)
_FIELDS = {field.name for field in fields(Plan)}


def plan_of(document: Mapping[str, Any]) -> Plan:
    """Makes a plan from what `Plan.as_document` gave.

    Raises:
        UsageError: It was written by another version.
    """
    if document.get("schema") != SCHEMA:
        raise UsageError(
            f"this experiment has schema {document.get('schema')} and this version writes schema {SCHEMA}: "
            "resume it with the version that started it, or start a new one"
        )
    return _PLAN.validate_python({name: value for name, value in document.items() if name in _FIELDS})


def arms_of(topologies: Sequence[Topology], switches: Switches) -> tuple[Arm, ...]:
    """An arm for each topology, all with the same switches as far as `in_comparison` lets them."""
    return tuple(Arm(topology.name, topology, in_comparison(topology, switches, topologies)) for topology in topologies)


_NETWORK = ("network", "rtt", "bandwidth")
SENT = ("trace", "http", "connections", "reuse", "visit", *_NETWORK)
"""Switches of the generator, which a target that is not the shop has too."""


def is_target(topology: Topology) -> bool:
    """Whether it is a target that is not the shop: it runs already, and nothing is known of its components."""
    return not topology.entry


def read_switches(
    topologies: Sequence[Topology], given: Mapping[str, str | None], networks: Mapping[str, Network] | None = None
) -> Switches:
    """Reads the switches of topologies; those of targets are the generator's, which have no edge to fit.

    Args:
        topologies: What is measured: topologies of the shop, or targets.
        given: The switches, as a user gives them.
        networks: Each channel's network, where the workload says so.

    Raises:
        SwitchError: One has a value that it cannot have.
    """
    if not is_target(topologies[0]):
        return parse_switches(networks, **given)
    read = {SWITCHES[name].field: SWITCHES[name].read(name, value) for name in SENT if (value := given.get(name))}
    own = {} if any(given.get(name) for name in _NETWORK) else dict(networks or {})
    return replace(Switches(edge="none", networks=own), **read)


def in_comparison(topology: Topology, switches: Switches, compared: Sequence[Topology]) -> Switches:
    """The switches of a topology among those that it is compared with.

    gRPC has no HTTP/3: beside clients that speak it, those that speak gRPC only stay on HTTP/2. Clients that speak
    framed Thrift have no edge.
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
    """An arm with switches of its own, as a user would give them.

    Args:
        label: Name in the results.
        topology: The topology that runs.
        given: The switches.
        networks: Each channel's network, where the workload says so.
        compared: The topologies of all arms.
        rate: Journeys a second of its tape; None for the profile's.

    Raises:
        UsageError: One has a value that it cannot have, or the topology cannot run with them; names the arm.
    """
    try:
        switches = read_switches([topology], given, networks)
        arm = Arm(label, topology, in_comparison(topology, switches, compared), rate)
        require_fit(topology, arm.switches)
    except SwitchError as error:
        raise UsageError(f"arm {label}: {error}") from error
    return arm


DATA_SEED = 1
"""Data are seeded by this; tape, order and bootstrap by the user's seed."""
