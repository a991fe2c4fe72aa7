"""Which topology to choose for given customers: on their networks, with their mix, from the files of one run.

Latencies are those of the run's journeys, adapted to the requested networks by the model of `hops.analysis.distance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypedDict, TypeVar

import polars as pl

from hops.analysis.comparisons import CPU, describe_comparison
from hops.analysis.cost import CORE_HOURS_A_MILLION, TOTAL
from hops.analysis.summary import of_ok
from hops.analysis.travel import OWN, move_to, travel_of
from hops.conclusions.wording import plural
from hops.errors import NotEnoughDataError
from hops.kinds.decide.gap_to_fastest import FARTHER, Gap, explain_gap
from hops.kinds.decide.mix import Kind, SampledBytes, contrast_bytes, median_of, sampled_bytes, shares, weigh, within
from hops.kinds.decide.ranking import Ranking, ranking, rankings
from hops.run.documents import SCHEMA
from hops.run.documents.estimate import Estimate
from hops.run.documents.gate import Verdict
from hops.run.documents.network import ChannelNetwork
from hops.run.documents.over_fetching import OverFetching, Saving
from hops.run.documents.summary import Summary
from hops.run.fault_notice import fault_notice
from hops.run.files import RunFiles
from hops.run.network import LOOPBACK, NAMED, Network, networks_of
from hops.run.switches import switches_of
from hops.statistics.contrast import Contrast, contrast
from hops.statistics.over_blocks import MIN_BLOCKS, Section
from hops.units import ALL

Figure = TypeVar("Figure", Section, SampledBytes)
P50, BYTES = "p50", "wire_bytes"
_ROWS = "journeys.parquet: latency_ns, waves, bytes_in, bytes_out"
_SAMPLE = "trials/*/parity_answers.jsonl: wire_in, wire_out"
_HOPS = "hops.parquet: ns"
_COST = "summary.json: topologies.*.cost.total; comparisons, cpu_ms"
SAVED = "summary.json: selection; hops.parquet: ns"
"""Sources of the figures in a results folder."""


@dataclass(frozen=True, slots=True)
class Customers:
    """The customers to decide for; without a mix, or a network of a channel, the run's is taken."""

    workload: str
    mix: Mapping[Kind, float] | None
    networks: Mapping[str, Network]


class Answer(TypedDict):
    """The answers for one channel, or for `all`, whose `network` is None if channels differ.

    `predicted` says whether latencies are for a network other than the run's. `to_turn` is None if no topology is
    shown to be slower than the fastest.
    """

    channel: str
    network: ChannelNetwork | None
    predicted: bool
    quickest: Ranking
    fewest_bytes: Ranking
    to_turn: Gap | None


class MixShare(TypedDict):
    """Share of the mix that one journey has through one channel, 0 to 1."""

    journey: str
    channel: str
    share: float


class Decision(TypedDict):
    """The whole document, as `make decide` prints it with `--json`.

    Latencies are in ms; bytes are those of a journey in both directions. `cheapest` is in core-hours per million
    journeys, as the run measured them over its own mix and on its own networks: CPU time is counted by component, not
    by channel. `rate` is the run's rate; None in a closed loop. `unanswered` lists what the run cannot answer, and why.
    """

    schema: int
    run: str
    verdict: Verdict
    notice: str
    mode: str
    blocks: int
    rate: float | None
    workload: str
    own_mix: bool
    mix: list[MixShare]
    answers: list[Answer]
    cheapest: Ranking
    over_fetching: list[OverFetching]
    selection: list[Saving]
    unanswered: list[str]


def decide(run: RunFiles, summary: Summary, customers: Customers) -> Decision:
    """Answers which topology to choose.

    Raises:
        NotEnoughDataError: The mix has a journey that the run did not measure; the message names it and the measured
            journeys. Or no journey of a channel ended ok.
    """
    wanted = _shares(run, customers)
    asked = {journey for journey, _ in wanted}
    channels = sorted({channel for _, channel in wanted})
    measured = networks_of(switches_of(run.manifest, run.topologies[0]))
    networks = {name: customers.networks.get(name, measured.get(name, NAMED[LOOPBACK])) for name in channels}
    rows = {name: _rows(run, name, customers.mix, networks) for name in run.topologies}
    hops = of_ok(run, run.hops)
    scopes = {scope: within(wanted, scope) for scope in (*channels, *([ALL] if len(channels) > 1 else []))}
    fastest, fewest = _fastest(rows, scopes, run.first_stage), _fewest_bytes(run, scopes)
    if failed := [scope for scope, one in fastest.items() if not one["lowest"]]:
        raise NotEnoughDataError(f"{run.path.name}: no journey ended ok for {', '.join(failed)}; measure again")
    return Decision(
        schema=SCHEMA,
        run=run.path.name,
        verdict=summary["verdict"],
        notice=fault_notice(summary["switches"]),
        mode=summary["mode"],
        blocks=summary["blocks"],
        rate=run.manifest["profile"]["rate"],
        workload=customers.workload,
        own_mix=customers.mix is None,
        mix=[MixShare(journey=kind[0], channel=kind[1], share=share) for kind, share in wanted.items()],
        answers=[
            Answer(
                channel=scope,
                network=_find_shared([networks[name] for name in channels if scope in (name, ALL)]),
                predicted=any((frame.filter(_in(scope))[FARTHER].abs() >= 1e-9).any() for frame in rows.values()),
                quickest=fastest[scope],
                fewest_bytes=fewest[scope],
                to_turn=explain_gap(
                    fastest[scope],
                    {name: frame.filter(_in(scope)) for name, frame in rows.items()},
                    hops,
                    mix,
                    [_HOPS, _ROWS],
                    run.first_stage,
                ),
            )
            for scope, mix in scopes.items()
        ],
        cheapest=_cheapest(summary),
        over_fetching=[row for row in summary.get("over_fetching", []) if row["journey"] in asked],
        selection=[row for row in summary.get("selection", []) if row["journey"] in {ALL, *asked}],
        unanswered=_list_unanswered(run, customers, channels, fewest[next(reversed(scopes))]),
    )


def _find_shared(networks: Sequence[Network]) -> ChannelNetwork | None:
    return networks[0].document if len(set(networks)) == 1 else None


def _shares(run: RunFiles, customers: Customers) -> dict[Kind, float]:
    """Computes the share of each kind of journey in the customers' mix."""
    sent = shares(weigh(run.journeys, None))
    if customers.mix is None:
        return sent
    mix = {kind: weight for kind, weight in sorted(customers.mix.items()) if weight > 0}
    if unmeasured := [kind for kind in mix if kind not in sent]:
        raise NotEnoughDataError(
            f"the workload {customers.workload} has {_join_kinds(unmeasured)}, which {run.path.name} did not measure; "
            f"it measured {_join_kinds(sent)}"
        )
    return {kind: weight / sum(mix.values()) for kind, weight in mix.items()}


def _join_kinds(kinds: Iterable[Kind]) -> str:
    return ", ".join(f"{journey}/{channel}" for journey, channel in kinds)


def _rows(
    run: RunFiles, topology: str, mix: Mapping[Kind, float] | None, networks: Mapping[str, Network]
) -> pl.DataFrame:
    """Adapts one topology's journeys to the customers: computes `weight`, and `own_ms` on their networks."""
    travel = travel_of(run, topology)
    measured = networks_of(switches_of(run.manifest, topology))
    there, here = (move_to(travel, each)[OWN] for each in (networks, measured))
    return weigh(travel.with_columns(there, (there - here).alias(FARTHER)), mix)


def _in(scope: str) -> pl.Expr:
    return pl.lit(True) if scope == ALL else pl.col("channel") == scope


def _fastest(rows: Mapping[str, pl.DataFrame], scopes: Iterable[str], first: int | None) -> dict[str, Ranking]:
    blocks = sorted(set.intersection(*(set(frame["block"].unique()) for frame in rows.values())))
    sections = {
        scope: {name: median_of(frame.filter(_in(scope)), OWN, blocks, first) for name, frame in rows.items()}
        for scope in scopes
    }
    return _rank(sections, P50, contrast, [_ROWS, _SAMPLE])


def _fewest_bytes(run: RunFiles, scopes: Mapping[str, Mapping[Kind, float]]) -> dict[str, Ranking]:
    samples = {name: run.sample(name) for name in run.topologies}
    sampled = {
        scope: {name: sampled_bytes(sample, mix) for name, sample in samples.items()} for scope, mix in scopes.items()
    }
    return _rank(sampled, BYTES, contrast_bytes, [_SAMPLE])


def _rank(
    figures: Mapping[str, Mapping[str, Figure]],
    metric: str,
    compare: Callable[[Figure, Figure], Contrast],
    source: list[str],
) -> dict[str, Ranking]:
    pairs = [
        describe_comparison(scope, metric, (a, b), (of[a].value, of[b].value), compare(of[a], of[b]))
        for scope, of in figures.items()
        for a, b in combinations(of, 2)
    ]
    values = {
        scope: {
            name: None if one.value is None else Estimate(value=one.value, ci95=list(one.interval))
            for name, one in of.items()
        }
        for scope, of in figures.items()
    }
    return rankings(values, pairs, source)


def _cheapest(summary: Summary) -> Ranking:
    """Ranks the topologies by cost, with the tests of CPU time from the summary."""
    costs = {name: of["cost"].get(TOTAL) for name, of in summary["topologies"].items()}
    pairs = [row for row in summary["comparisons"] if row["metric"] == CPU]
    by_cost = ranking(costs, pairs, [_COST])
    for row in by_cost["behind"]:
        # Comparisons are in ms of CPU time per journey.
        row["value"] *= CORE_HOURS_A_MILLION / 1e3
        row["ci95"] = [None if end is None else end * CORE_HOURS_A_MILLION / 1e3 for end in row["ci95"]]
    return by_cost


def _list_unanswered(run: RunFiles, customers: Customers, channels: Sequence[str], fewest: Ranking) -> list[str]:
    texts = []
    if len(run.topologies) == 1:
        texts.append(f"which topology: the run measured only one, {run.topologies[0]}")
    elif run.blocks < MIN_BLOCKS:
        count = plural(run.blocks, "block")
        texts.append(f"whether any difference is more than chance: the run has {count}, and that needs {MIN_BLOCKS}")
    texts += [
        f"{channel}: no journey of the mix comes through this channel"
        for channel in sorted(customers.networks.keys() - set(channels))
    ]
    if lacking := [name for name in run.topologies if name not in fewest["values"]]:
        texts.append(f"bytes of {', '.join(lacking)}: no sample counted those of every journey in the mix")
    return texts
