"""The shapes of `summary.json` and `trials.json`: what programs can rely on."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

SCHEMA = 2

#: Who says when a journey starts: the tape, or virtual users, each once it has its last answer.
Mode = Literal["open", "closed"]
#: What a comparison shows. Of two topologies it names the lower one, of two runs it says what b is.
Finding = Literal["left_lower", "right_lower", "lower", "higher", "not_shown", "unknown"]


class JourneySummary(TypedDict):
    """Figures of one journey, or of `all`. Latencies are those of the journeys that ended ok.

    `bytes_*` are bodies: as they came, decompressed (`raw`), and sent. `wire_*` is all that TCP carried for a journey
    that was sent alone, None where no sample has it.
    """

    count: int
    errors: dict[str, int]
    requests_per_journey: float
    waves_mean: float
    parallel_mean: float
    bytes_in_mean: float
    bytes_in_raw_mean: float
    bytes_out_mean: float
    wire_in_mean: float | None
    wire_out_mean: float | None
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]
    budget_ms: dict[str, dict[str, float]]
    traced_mean_ms: float | None
    traces: int


class WireSummary(TypedDict):
    """All that TCP carried on the clients' connections during the replay, and before it to open them."""

    bytes_in: int
    bytes_out: int
    in_per_journey: float
    out_per_journey: float
    opening_bytes_in: int
    opening_bytes_out: int
    connections: int


class Estimate(TypedDict):
    """A figure with its 95 % interval over blocks; an end is None where it cannot be known."""

    value: float
    ci95: list[float | None]


class SidecarSummary(TypedDict):
    """One direction of a component's sidecar: how often a traced journey crosses it, and its own time for each.

    `ms_per_crossing` is of the crossings on the critical path, None without any.
    """

    crossings_per_journey: float
    ms_per_crossing: float | None


class TopologySummary(TypedDict):
    """Figures of one topology over all blocks. `wire` is None where the connections were not counted.

    `cost` is in core-hours for a million journeys, by group of components (`hops.analysis.cost.GROUPS`) and `total`,
    which leaves out the load generator: it is no part of a shop. `sidecars` are by the names of their spans, as
    `order-outbound`; empty without a mesh.
    """

    throughput_per_s: float
    errors: dict[str, int]
    cpu_ms_per_journey: dict[str, float]
    rss_mb: dict[str, float]
    cost: dict[str, Estimate]
    wire: WireSummary | None
    sidecars: dict[str, SidecarSummary]
    journeys: dict[str, JourneySummary]


class ObserverEffect(TypedDict):
    """What tracing adds to the median latency, ms; None if there is too little of either kind."""

    p50: float | None
    ci95: list[float | None]


class ClosedLoop(TypedDict):
    """What drove a closed loop."""

    vus: int
    think_s: float


class Tested(TypedDict):
    """What is known of a difference: how large, how sure.

    `p` belongs to the ratio, `p_holm` is `p` after Holm's correction. `effect` is the probability that a journey
    of the left, or of run b, is faster than one of the other side (ties half): 0.5 where neither is faster;
    None for `cpu_ms`.
    """

    difference: float | None
    ci95: list[float | None]
    ratio: float | None
    ratio_ci95: list[float | None]
    p: float | None
    p_holm: float | None
    effect: float | None


class Difference(Tested):
    """One metric of one journey, of two systems.

    `metric` is `mean` or a percentile of the latency, in ms, or `cpu_ms` for a journey (journey `all` only). `verdict`
    names the lower or the higher side if `p_holm` is below 5 %, else it is `not_shown`; `unknown` where nothing could
    be tested, with `reason`.
    """

    journey: str
    metric: str
    verdict: Finding
    reason: str | None


class Comparison(Difference):
    """One metric of one journey, of two topologies: `difference` is left minus right, `ratio` left divided by right."""

    left: str
    right: str
    left_value: float | None
    right_value: float | None


class PartDifference(TypedDict):
    """One part of the budget: left minus right, ms, with its interval over blocks."""

    part: str
    left_ms: float
    right_ms: float
    difference_ms: float
    ci95: list[float | None]


class HopDifference(TypedDict):
    """Why the mean of two topologies' traced journeys differs: the parts add up to the whole.

    `parts` are those of the hop budget, largest difference first; `groups` are the same by what they are
    (`hops.budget.groups.GROUPS`), and add up too.
    """

    journey: str
    left: str
    right: str
    traces: list[int]
    difference_ms: float
    ci95: list[float | None]
    parts: list[PartDifference]
    groups: list[PartDifference]


#: Whether two measurements of a step agree: whether the interval of their difference includes 0.
Agreement = Literal["agree", "differ", "unknown"]


class GroupChange(Estimate):
    """What the parts of one group (`hops.budget.groups.GROUPS`) did in a step, ms."""

    group: str


class LadderRow(TypedDict):
    """One step of a ladder in one journey or `all`, ms: the upper arm minus the lower, by two measurements.

    `measured` is the difference of the mean latencies, from the journeys that were not traced: `journeys` counts them
    in the lower and the upper arm. `attributed` is that of the parts which belong to the step, from the `traces`.
    `remainder` is measured minus attributed; its interval is of both together, paired by block. `elsewhere` is what
    the parts that do not belong to the step did, `groups` the same by group.

    Of the step that adds tracing, `measured` is from all journeys, and `attributed` is the share of the journeys that
    are traced times what being traced adds to one: `traces` counts the upper arm's journeys without and with a trace,
    and there is nothing elsewhere. `reason` says why the verdict is `unknown`.
    """

    journey: str
    journeys: list[int]
    traces: list[int]
    measured: Estimate
    attributed: Estimate
    remainder: Estimate
    elsewhere: Estimate
    groups: list[GroupChange]
    verdict: Agreement
    reason: str | None


class LadderStep(TypedDict):
    """One step: what it adds, in words, the arm without it and the arm with it; `all` is the first of its rows."""

    adds: str
    lower: str
    upper: str
    rows: list[LadderRow]


class Added(TypedDict):
    """What is added to a figure, ms; `reason` says why there is no interval."""

    value: float | None
    ci95: list[float | None]
    reason: str | None


class SidecarPair(TypedDict):
    """What two sidecars add to a call by its traces: the time between its ends, less that in the arm `edge`.

    `link` is `<caller>→<callee>`, or `all`. `calls` counts them without and with sidecars.
    """

    arm: str
    link: str
    calls: list[int]
    mean: Added
    p99: Added


class Ladder(TypedDict):
    """What each step of a ladder adds, measured twice, and what a pair of sidecars adds to a call."""

    steps: list[LadderStep]
    sidecar_pairs: list[SidecarPair]


class ResourcesFrom(TypedDict):
    """Who counted CPU seconds and memory in a cluster (`kubelet` or `metrics API`), and how exactly.

    `resolution_s` is the longest time that one CPU figure is a mean over.
    """

    source: str
    resolution_s: float


class _OfCluster(TypedDict, total=False):
    """What is there in a cluster only, and not in runs of earlier versions."""

    resources_from: ResourcesFrom


class _Speed(TypedDict, total=False):
    """What older records lack: how many times a second the machine did a fixed piece of work around the trial."""

    machine_speed: float


class TrialRecord(_Speed, _OfCluster):
    """One trial, as `trials.json` keeps it. `used` is false for one that a later attempt replaces."""

    block: int
    topology: str
    attempt: int
    position: int
    used: bool
    valid: bool
    gates: list[Gate]
    gates_left_out: list[LeftOut]
    began: str
    ended: str
    commit: str
    phases_s: dict[str, float]
    answers_sha256: str
    cpu_s: dict[str, float]
    rss_mb: dict[str, float]
    memory_peak_mb: float
    generator: dict[str, Any]
    exemplars: dict[str, dict[str, str]]


class Verdict(TypedDict):
    """Whether a trial or block may be trusted; `reasons` are the names of the gates that failed.

    `machine_speed` is that of the trial, as a share of the fastest used trial's; None for a block or if not known.
    """

    block: int
    topology: str | None
    attempt: int | None
    used: bool
    valid: bool
    reasons: list[str]
    machine_speed: float | None


class _OfLadder(TypedDict, total=False):
    """What only a ladder has."""

    ladder: Ladder


class Summary(_OfLadder, _OfCluster):
    """The whole file. `closed` is None in an open loop. `verdicts` has a row per trial, and per block (no topology)."""

    schema: int
    name: str
    kind: Literal["bench", "compare", "ladder"]
    blocks: int
    verdicts: list[Verdict]
    mode: Mode
    closed: ClosedLoop | None
    valid: bool
    gates: list[Gate]
    gates_left_out: list[LeftOut]
    tape: dict[str, Any]
    switches: dict[str, Any]
    topologies: dict[str, TopologySummary]
    observer_effect_ms: ObserverEffect
    comparisons: list[Comparison]
    hop_differences: list[HopDifference]


class Gate(TypedDict):
    """One check: its value, the limit that it is held to, and whether it holds. A value not measured is None."""

    name: str
    value: float | None
    limit: float
    ok: bool


class LeftOut(TypedDict):
    """A check that says nothing about this run, and why."""

    name: str
    reason: str
