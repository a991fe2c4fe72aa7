"""Reads and checks the files of `load/studies`: what studies measured and claim, and how they are replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from experiment.arguments import read_items
from experiment.errors import UsageError
from hops.conclusions.wording import join_names
from hops.kinds.studies.document import OF_AN_ORDER, SIDES, Claim, Metric, Relation, other_clients
from hops.kinds.studies.verdict import ends_of
from mesh.paths import ROOT
from user_files.mistakes import validate
from user_files.words import describe, valid
from user_files.yaml_file import Place, YamlFile

STUDIES = ROOT / "load" / "studies"
OVER_TWO_LOADS = "payload_effect"

USUAL = "The services behind the edge, on both sides."
"""Reason why the topologies in `SIDES` represent a claim's sides."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,39}$")]
Positive = Annotated[FiniteFloat, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClaimEntry(_Strict):
    """A claim in the file of a study.

    Attributes:
        tolerance: The largest difference that counts as none, as a share (0.05 is 5 %).
    """

    id: Name
    metric: Metric
    left: str
    between: list[str] = []
    right: str
    relation: Relation
    value: Positive | Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    tolerance: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = None
    under: dict[str, str | int] = {}
    note: str = ""
    source: Annotated[str, Field(alias="in")] = ""


class LoadEntry(_Strict):
    """A load in a study, with the study's own figures.

    Attributes:
        mix: Weights by `journey/channel`, or the name of a workload.
        users: Users of a closed loop; None with `arrivals`.
        arrivals: Number of users who send one request each, spread evenly over the duration; None with `users`.
        steps: Share of the maximum number of users in each of the load's equally long parts.
        overload: Whether the load exceeds what the shop can take; if so, journeys may fail, and blocks may differ.
        answers: Claims that this load decides.
        also: Claims that this load shows but does not decide.
    """

    about: str
    mix: str | dict[str, Positive]
    users: Annotated[int, Field(ge=1)] | None = None
    arrivals: Annotated[int, Field(ge=1)] | None = None
    think_s: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    steps: tuple[Annotated[FiniteFloat, Field(ge=0)], ...] = ()
    duration_s: Positive
    overload: bool = False
    switches: dict[str, str | int] = {}
    topologies: Annotated[list[str], Field(min_length=1)]
    answers: list[str] = []
    also: list[str] = []


class Scale(_Strict):
    """The factor that divides the study's figures: `users`, `time`, or both; 1 for the study's own figures."""

    by: Positive
    divides: list[Annotated[str, Field(pattern="^(users|time)$")]]
    why: str

    @property
    def text(self) -> str:
        """Describes the scale in words."""
        factor = f"One factor: {join_names(self.divides)} divided by {self.by:g}."
        return f"{factor if self.by != 1 else 'Nothing is scaled.'} {self.why}"


class Side(_Strict):
    """The topology that represents a side in this study, and the reason."""

    topology: str
    why: str


class ClaimArms(_Strict):
    """The topologies that a claim compares if the topologies in `SIDES` would be an unfair comparison, and why."""

    left: str
    right: str
    why: str


class Replay(_Strict):
    """The replay of a study.

    Attributes:
        sides: The topology of each side whose topology differs from `SIDES`.
        arms: The topologies of each claim for which the sides' topologies would be an unfair comparison.
        published: For each claim, the path of its absolute figures in the tables, and their unit, such as
            `latency_ms.{side}.p50 ms`.
        not_comparable: For each claim without a load, the reason.
    """

    scale: Scale
    not_replayed: str
    switches: dict[str, str | int] = {}
    sides: dict[str, Side] = {}
    arms: dict[str, ClaimArms] = {}
    loads: Annotated[dict[Name, LoadEntry], Field(min_length=1)]
    published: dict[str, str] = {}
    not_comparable: dict[str, str] = {}


class StudyFile(_Strict):
    """A study's file: what the study is, its design, the figures that it printed, its claims, and its replay."""

    id: Name
    title: str
    authors: Annotated[list[str], Field(min_length=1)]
    year: int | None = None
    venue: str = ""
    design: dict[str, Any]
    tables: dict[str, Any] = {}
    claims: Annotated[list[ClaimEntry], Field(min_length=1)]
    replay: Replay

    def loads_of(self, claim: str) -> list[str]:
        """Returns the names of the loads that decide a claim."""
        return [name for name, load in self.replay.loads.items() if claim in load.answers]

    def only(self, wanted: Sequence[str], *, with_others: bool = False) -> StudyFile:
        """Returns the study with only these claims, and only the loads and topologies that decide them.

        Args:
            with_others: Whether to keep the other loads and clients under which a report judges these claims too.
        """
        claims = [claim for claim in self.claims if claim.id in wanted]
        loads = {}
        for name, load in self.replay.loads.items():
            answered = [claim for claim in claims if claim.id in load.answers]
            also = [claim for claim in claims if with_others and claim.id in load.also]
            sides = [*map(self.topologies_of, answered), *map(self.usual_topologies_of, also)]
            if with_others:
                sides += map(other_clients, list(sides))
            needed = {topology for each in sides for topology in each}
            narrowed = {
                "answers": [claim.id for claim in answered],
                "also": [claim.id for claim in also],
                "topologies": [topology for topology in load.topologies if topology in needed],
            }
            if answered or also:
                loads[name] = load.model_copy(update=narrowed)
        arms = {name: arms for name, arms in self.replay.arms.items() if name in wanted}
        replay = self.replay.model_copy(update={"loads": loads, "arms": arms})
        return self.model_copy(update={"claims": claims, "replay": replay})

    def topologies_of(self, claim: ClaimEntry) -> list[str]:
        """Returns the topologies that represent a claim's sides under the loads that decide the claim."""
        if claim.id in self.replay.arms:
            return [self.replay.arms[claim.id].left, self.replay.arms[claim.id].right]
        return self.usual_topologies_of(claim)

    def usual_topologies_of(self, claim: ClaimEntry) -> list[str]:
        """Returns the topologies that represent a claim's sides unless the study's file gives the claim others."""
        own = {name: side.topology for name, side in self.replay.sides.items()}
        return [{**SIDES, **own}.get(side, side) for side in sides_of(claim)]

    def why_topologies(self, claim: ClaimEntry) -> str:
        """Says why the topologies of `topologies_of` represent the sides of a claim."""
        if claim.id in self.replay.arms:
            return self.replay.arms[claim.id].why
        own = self.replay.sides
        return " ".join(dict.fromkeys(own[side].why for side in sides_of(claim) if side in own)) or USUAL

    def claim_documents(self) -> list[Claim]:
        """Returns the claims as a run's manifest has them."""
        loads = self.replay.loads.items()
        claims = [
            {
                **claim.model_dump(),
                "published": self.figures_of(claim),
                "topologies": self.topologies_of(claim),
                "why_topologies": self.why_topologies(claim),
                "loads": self.loads_of(claim.id),
                "reason": self.replay.not_comparable.get(claim.id, ""),
                "also": {name: self.usual_topologies_of(claim) for name, load in loads if claim.id in load.also},
            }
            for claim in self.claims
        ]
        return cast("list[Claim]", claims)

    def figures_of(self, claim: ClaimEntry) -> str:
        """Returns the absolute figures that the study printed for both sides of a claim; empty without figures."""
        where, _, unit = self.replay.published.get(claim.id, "").partition(" ")
        figures = [str(_at(self.tables, where.format(side=side))) for side in sides_of(claim) if where]
        return " ".join(filter(None, (join_names(figures), unit)))


def sides_of(claim: ClaimEntry) -> list[str]:
    """Returns the sides of a claim, in the claim's order."""
    return [claim.left, *claim.between, claim.right]


def all_studies(folder: Path = STUDIES) -> list[str]:
    """Returns the ids of all studies."""
    return sorted(file.stem for file in folder.glob("*.yaml"))


def studies_named(given: str, folder: Path = STUDIES) -> list[StudyFile]:
    """Reads the studies with comma-separated ids, or `all`; raises UsageError for an unknown id or an invalid file."""
    known = all_studies(folder)

    def one(name: str) -> str:
        if name not in known:
            raise UsageError(f"study={given}: {name or 'an empty item'} is unknown; valid: all, {', '.join(known)}")
        return name

    names = known if given == "all" else read_items("study", given, one)
    return [read_study(folder / f"{name}.yaml") for name in names]


def with_claims(studies: Sequence[StudyFile], given: str) -> list[StudyFile]:
    """Returns studies with only the comma-separated claims, and only the loads and topologies that judge these.

    Returns all of the studies for `all`. Raises UsageError for a claim that they lack, or that is not comparable.
    """
    if given == "all":
        return list(studies)
    reasons = {id_: reason for study in studies for id_, reason in study.replay.not_comparable.items()}
    known = [claim.id for study in studies for claim in study.claims]

    def one(name: str) -> str:
        if name not in known:
            raise UsageError(f"claims={given}: {name or 'an empty item'} is unknown; {valid(name, ['all', *known])}")
        if name in reasons:
            raise UsageError(f"claims={given}: {name} is not comparable, because {reasons[name]}; leave it out")
        return name

    wanted = read_items("claims", given, one)
    return [
        study.only(wanted, with_others=True) for study in studies if any(claim.id in wanted for claim in study.claims)
    ]


def read_study(file: Path) -> StudyFile:
    """Reads and checks the file of a study; raises UsageError, which names the line and the claim, for a mistake."""
    opened = YamlFile.read(file, UsageError)
    study = validate(opened, StudyFile)
    if problems := list(_problems(study, file)):
        raise opened.all_wrong(problems)
    return study


def _problems(study: StudyFile, file: Path) -> Iterator[tuple[Place, str]]:
    ids = [claim.id for claim in study.claims]
    if study.id != file.stem:
        yield ("id",), f"{study.id} differs from the file's name"
    for at, claim in enumerate(study.claims):
        texts = ["appears twice"] if claim.id in ids[:at] else []
        yield from ((("claims", at), f"claim {claim.id}: {text}") for text in (*texts, *_problems_of(claim, study)))
    for name, load in study.replay.loads.items():
        place = "replay", "loads", name
        if (load.users is None) == (load.arrivals is None):
            yield place, "give either users (a closed loop) or arrivals (one request each)"
        for key, claims in (("answers", load.answers), ("also", load.also)):
            unknown = [one for one in claims if one not in ids]
            yield from (((*place, key), f"{describe(one)} is not a claim; {valid(one, ids)}") for one in unknown)
    replay = study.replay
    if bool(replay.scale.divides) != (replay.scale.by != 1):
        yield ("replay", "scale"), "give by: 1 and divides: [] for the study's own figures, or both for scaled ones"
    named: Mapping[str, Mapping[str, object]] = {
        "published": replay.published,
        "not_comparable": replay.not_comparable,
        "arms": replay.arms,
    }
    for key, entries in named.items():
        unknown = [one for one in entries if one not in ids]
        yield from ((("replay", key, one), f"{describe(one)} is not a claim; {valid(one, ids)}") for one in unknown)


def _problems_of(claim: ClaimEntry, study: StudyFile) -> Sequence[str]:
    unknown = [side for side in sides_of(claim) if side not in SIDES]
    problems = [f"{describe(side)} is not a side; {valid(side, SIDES)}" for side in unknown]
    if claim.metric == OF_AN_ORDER and (claim.relation != "lt" or claim.tolerance is None):
        problems.append(f"{OF_AN_ORDER} compares an order: give relation lt and a tolerance, such as 0.05")
    if claim.between and claim.metric != OF_AN_ORDER:
        problems.append(f"between is only valid with {OF_AN_ORDER}, which orders several sides")
    if claim.relation == "ratio":
        if claim.value is None:
            problems.append("a ratio needs its value")
        elif (ends := claim.value if isinstance(claim.value, list) else [claim.value]) and not (
            max(ends) < 1 or min(ends) > 1
        ):
            problems.append(f"value {claim.value} is neither above nor below 1, so the claim says nothing")
    if claim.relation == "eq" and claim.tolerance is None:
        problems.append("eq needs a tolerance, such as 0.01")
    if claim.relation != "eq" and claim.tolerance is not None:
        if claim.metric == "success_rate":
            problems.append("a tolerance is a share, and success rates are compared in points: leave it out")
        if claim.value is not None and any(abs(end - 1) <= claim.tolerance for end in ends_of(claim.value)):
            problems.append(f"value {claim.value} is within its tolerance, which counts as no difference")
    loads, reason = study.loads_of(claim.id), study.replay.not_comparable.get(claim.id)
    if bool(loads) == bool(reason):
        problems.append("it needs either a load that answers it, or a reason in not_comparable")
    several = claim.metric in (OVER_TWO_LOADS, OF_AN_ORDER)
    if loads and (len(loads) > 1) != several:
        problems.append(
            f"{claim.metric} is answered by {'at least two loads' if several else 'one load'}, not {len(loads)}"
        )
    problems += [
        f"its load {name} does not run {topology}"
        for name in loads
        for topology in study.topologies_of(claim)
        if topology not in study.replay.loads[name].topologies
    ]
    problems += [
        f"its other load {name} does not run {topology}"
        for name, load in study.replay.loads.items()
        if claim.id in load.also
        for topology in study.usual_topologies_of(claim)
        if topology not in load.topologies
    ]
    try:
        study.figures_of(claim)
    except (LookupError, ValueError, AttributeError):  # also for braces other than {side}
        problems.append(f"published: {study.replay.published[claim.id]} is not in the tables")
    return problems


def _at(tables: Mapping[Any, Any], where: str) -> Any:
    """Looks up dot-separated keys in nested tables; a numeric key in a table matches its digits in the path."""
    value: Any = tables
    for key in where.split("."):
        if not isinstance(value, Mapping):
            raise LookupError(where)
        value = {str(name): one for name, one in value.items()}[key]
    return value
