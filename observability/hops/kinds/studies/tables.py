"""The verdicts on claims as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hops.conclusions.wording import join_names, plural
from hops.elements import numbers
from hops.elements.element import Element, Fold, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, whole, words
from hops.kinds.studies.document import (
    LATENCY,
    METRICS,
    NAIVE,
    OF_AN_ORDER,
    OF_THE_ANSWERS,
    OUTCOMES,
    Claim,
    Metric,
    Outcome,
    Relation,
    Replayed,
    Study,
    Verdict,
    replayed_in,
)
from hops.kinds.studies.verdict import ends_of
from hops.run.documents.summary import Summary
from hops.statistics.correction import SIGNIFICANCE
from hops.tables.view import SummaryView

_IS: dict[Outcome, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "contradicted": ("is contradicted", "are contradicted"),
    "not shown": ("is not shown", "are not shown"),
    "not comparable": ("is not comparable", "are not comparable"),
}
"""Verb for one claim, and for several."""
_TONES = {"holds": "best", "contradicted": "bad"}
ONE_MACHINE = (
    "One machine carries the load generator, the shop, its database and its telemetry. Every arm is this project's "
    "shop: the verdicts are about protocols, and not about the studies' code. How each study is replayed, and what "
    "cannot be compared: docs/experiments/studies.md."
)
RULE = (
    "Measured is left divided by right, with its 95 % interval over blocks. A verdict has two words. Direction: a "
    "claim holds if the whole interval lies on the claimed side of no effect (1). It is contradicted if the interval "
    "lies on the other side. Otherwise, and where its trials fail a gate, it is not shown. Size: a published ratio "
    "lies inside the interval, or the measured effect is so many times the ratio. Absolute figures belong to a machine "
    "and decide nothing. CPU is that of a journey; CPU and memory are those of services and gateways, without edge and "
    "database."
)
ORDER_RULE = (
    "One side levels off earlier than another if two facts are shown at the same number of users. More users add less "
    "than the claim's tolerance to its throughput, and they add more than that to the other's. A claim is contradicted "
    "if any two sides are shown to be in the other order."
)
"""Extends `RULE` for claims about `saturation_users`."""
EQUAL_RULE = (
    "A claim with a tolerance is also contradicted if the whole interval lies within that share of no effect: then the "
    "sides are shown to be equal."
)
"""Extends `RULE` for claims about a difference that have a tolerance."""
BYTES_RULE = "NOISY trials decide claims about bytes of answers, because noise changes latencies and not answers."
"""Extends `RULE` for claims about `payload_bytes`."""
MEMORY_RULE = (
    "Memory is that of the services and gateways that answer a load's journeys, by the journeys' traces. The shop's "
    "other services wait for other requests."
)
"""Extends `RULE` for claims about `memory_mb`."""
NOISY_RULE = (
    "If at most a quarter of the blocks have a NOISY trial of a claim's arms, the other blocks decide, provided that "
    "all blocks together give the same direction."
)
"""Extends `RULE` for runs of which some trials are NOISY."""
FAILURES_RULE = (
    "Where more than 1 % of a side's journeys fail, a claim about latency is judged with and without them. It is "
    "decided only if both verdicts agree. A failed journey counts with the time until it failed."
)
"""Extends `RULE` for loads under which journeys fail."""


def answer(summary: Summary) -> str:
    """Writes the report's title; empty if no claim was decided."""
    verdicts = [verdict for one in replayed_in(summary) for verdict in one["verdicts"]]
    decided = _counts(verdicts, ("holds", "contradicted"))
    return f"Of {plural(len(verdicts), 'published claim')}, {join_names(decided)}" if decided else ""


def section(view: SummaryView) -> Section:
    """Makes the first section of the report: the verdicts on the claims."""
    return Section("claims", "What became of the claims", verdict_elements(replayed_in(view.summary)))


def count_verdicts(verdicts: Sequence[Verdict]) -> str:
    """Counts the claims that hold, are contradicted, and so on."""
    return f"Of {plural(len(verdicts), 'claim')}, {join_names(_counts(verdicts, OUTCOMES))}."


def _counts(verdicts: Sequence[Verdict], outcomes: Iterable[Outcome]) -> list[str]:
    """Counts the verdicts with each of these outcomes, if there are any: `6 hold`, `1 is contradicted`."""
    counts = Counter(verdict["outcome"] for verdict in verdicts)
    return [f"{counts[name]} {_IS[name][counts[name] != 1]}" for name in outcomes if counts[name]]


def several_note(verdicts: Sequence[Verdict]) -> str:
    """Describes how the verdicts change with a correction over all claims."""
    decided = [one for one in verdicts if one["outcome"] in ("holds", "contradicted") and one["p_holm"] is not None]
    lost = [one["claim"]["id"] for one in decided if (one["p_holm"] or 0.0) >= SIGNIFICANCE]
    several = "Each interval is for one claim alone."
    if not decided:
        return f"{several} No verdict was reached, so there is nothing to correct."
    if not lost:
        return f"{several} Holm's correction over all claims changes none of the {len(decided)} that were decided."
    return f"{several} After Holm's correction over all claims, {join_names(lost)} would not be decided."


def verdict_elements(studies: Sequence[Replayed]) -> list[Element]:
    """Counts the claims that hold, then lists them study by study, and explains contradictions."""
    verdicts = [verdict for one in studies for verdict in one["verdicts"]]
    whose = f"{cite(studies[0]['study'])}: " if len(studies) == 1 else ""
    elements: list[Element] = [Points([f"{whose}{count_verdicts(verdicts)}"], tone="sentences")]
    if len(studies) > 1:
        elements.append(_studies_table(studies))
    for one in studies:
        elements += _study_elements(one, alone=len(studies) == 1)
    claims = [verdict["claim"] for verdict in verdicts]
    rules = rules_for(
        ((claim["metric"], claim["relation"], claim["tolerance"]) for claim in claims),
        fails=any(verdict["failed"] for verdict in verdicts),
        noisy=any(verdict["left_out"] for verdict in verdicts),
    )
    return [*elements, Text(f"{rules} {several_note(verdicts)}"), Text(ONE_MACHINE)]


def rules_for(claims: Iterable[tuple[Metric, Relation, float | None]], *, fails: bool, noisy: bool) -> str:
    """Returns the rules by which claims with these metrics, relations and tolerances are judged.

    Args:
        fails: Whether journeys fail under a load.
        noisy: Whether blocks may be left out.
    """
    listed = list(claims)
    metrics = {metric for metric, _, _ in listed}
    equal = any(each and relation != "eq" and metric != OF_AN_ORDER for metric, relation, each in listed)
    extended = (
        (ORDER_RULE, OF_AN_ORDER in metrics),
        (EQUAL_RULE, equal),
        (BYTES_RULE, OF_THE_ANSWERS in metrics),
        (MEMORY_RULE, "memory_mb" in metrics),
        (NOISY_RULE, noisy),
        (FAILURES_RULE, fails and any(metric.startswith(LATENCY) for metric in metrics)),
    )
    return " ".join([RULE, *(rule for rule, applies in extended if applies)])


def _studies_table(studies: Sequence[Replayed]) -> Table:
    rows = []
    for one in studies:
        counts = Counter(verdict["outcome"] for verdict in one["verdicts"])
        rows.append([words(cite(one["study"])), *(whole(counts[name]) for name in OUTCOMES), words(one["figures"])])
    columns = [Column("study", numeric=False), *map(Column, OUTCOMES), Column("figures", numeric=False)]
    return Table("verdicts", "Verdicts by study, and whether its figures may be trusted", columns, rows)


def _study_elements(one: Replayed, *, alone: bool) -> list[Element]:
    study, verdicts = one["study"], one["verdicts"]
    reasons = [text for verdict in verdicts if (text := explain(verdict))]
    elements: list[Element] = []
    if not alone:
        elements += [Heading(cite(study)), Text(f"{source(study)} {count_verdicts(verdicts)}")]
    elements.append(claims_table(f"claims_{study['id']}", f"The claims of {cite(study)}", verdicts))
    if reasons:
        elements.append(Points(reasons, tone="sentences"))
    replay: list[Element] = [loads_table(study), Text(f"{study['scale']} Not replayed: {study['not_replayed']}")]
    return [*elements, Fold("How the study's loads are replayed", replay, brief=True)]


def cite(study: Study) -> str:
    """Cites the study in a few words."""
    surnames = [author.split()[-1] for author in study["authors"]]
    year = f" ({study['year']})" if study["year"] else ""
    return f"{join_names(surnames)}{year}"


def source(study: Study) -> str:
    """Cites the study with every known detail of its publication."""
    parts = [join_names(study["authors"]), f"“{study['title']}”", study["venue"]]
    if study["year"] and str(study["year"]) not in study["venue"]:
        parts.append(str(study["year"]))
    return f"{', '.join(part for part in parts if part)}."


def claims_table(key: str, caption: str, verdicts: Sequence[Verdict]) -> Table:
    """Lists claim, published value, measured value, verdict and reason."""
    columns = [Column("claim", numeric=False), Column("says", numeric=False), Column("arms", numeric=False, spare=4)]
    columns += [Column("their figures", numeric=False, spare=3), Column("our figures", numeric=False, spare=2)]
    columns += [Column("measured", interval=True), Column("direction", numeric=False), Column("size", numeric=False)]
    columns.append(Column("reason", numeric=False, spare=1))
    return Table(key, caption, columns, [_row(verdict) for verdict in verdicts])


def says(verdict: Verdict) -> str:
    """Phrases the claim with its condition: `latency, p50: grpc 0.57 times rest (payload 100B)`."""
    condition = condition_of(verdict["claim"])
    return phrase_claim(verdict["claim"]) + (f" ({condition})" if condition else "")


def condition_of(claim: Claim) -> str:
    """Returns under which condition a study claims something: `payload 100B`; empty if under none."""
    return ", ".join(f"{name} {value}" for name, value in claim["under"].items())


def phrase_claim(claim: Claim) -> str:
    """Phrases what a study claims: `latency, p50: grpc 0.57 times rest`."""
    left, right, value = _side(claim["left"]), _side(claim["right"]), claim["value"]
    if claim["metric"] == "payload_effect":
        text = f"{left}'s over {right} {'grows' if claim['relation'] == 'gt' else 'shrinks'}"
    elif claim["relation"] == "ratio":
        assert value is not None
        text = f"{left} {' to '.join(dict.fromkeys(f'{end:g}' for end in ends_of(value)))} times {right}"
    elif claim["relation"] == "eq":
        text = f"{left} as {right}, within {numbers.share(claim['tolerance'], 0)}"
    else:
        way = f" {'below' if claim['relation'] == 'lt' else 'above'} "
        text = way.join([left, *map(_side, claim["between"]), right])
    return f"{METRICS[claim['metric']][0]}: {text}"


def size_text(verdict: Verdict) -> str:
    """Phrases the second part of a verdict: `inside`, or `0.1 times the ratio`."""
    size = verdict["size"]
    if size is None:
        return numbers.NOTHING
    return "inside" if size["inside"] else f"{numbers.plain(size['measured_over_published'])} times the ratio"


def explain(verdict: Verdict) -> str:
    """Explains why a claim is contradicted, and where it holds; empty if there is nothing to explain."""
    texts = [*verdict["why"], *qualify(verdict)]
    if not texts:
        return ""
    return f"{verdict['claim']['id']} ({says(verdict)}) {_IS[verdict['outcome']][0]}. {' '.join(texts)}"


def qualify(verdict: Verdict) -> list[str]:
    """Lists what the verdict leaves out: failed journeys, NOISY blocks, and other clients and loads that differ."""
    texts = []
    if verdict["failed"]:
        texts.append(f"Failed journeys, in percent: {' and '.join(map(numbers.plain, verdict['failed']))}.")
    if verdict["left_out"]:
        noun = "block" if len(verdict["left_out"]) == 1 else "blocks"
        blocks = join_names([str(block) for block in verdict["left_out"]])
        texts.append(f"Left out because of NOISY trials: {noun} {blocks}.")
    other = verdict["other_client"]
    if other is not None and other["outcome"] != verdict["outcome"]:
        becomes = _IS[other["outcome"]][0]
        naive = any(NAIVE in arm for arm in other["arms"])
        client = "makes one request per item" if naive else "asks for many items at once"
        effect = numbers.figure(other["effect"]["value"], other["effect"]["ci95"])
        texts.append(f"It {becomes} if the client {client}: {' divided by '.join(other['arms'])} is {effect}.")
    return texts + [
        f"Under the load {other['load']} it {_IS[other['outcome']][0]}: {' divided by '.join(other['arms'])} is "
        f"{numbers.figure(other['effect']['value'], other['effect']['ci95'])}."
        for other in verdict["other_loads"]
    ]


def loads_table(study: Study) -> Table:
    """Lists each load as published and as replayed."""
    rows = []
    for name, load in study["loads"].items():
        ends = ((load["users"], load["duration_s"]), (load["users_replayed"], load["duration_replayed_s"]))
        how = ", one request each, in" if load["arrivals"] else " for"
        both = [f"{plural(users, 'user')}{how} {seconds:g} s" for users, seconds in ends]
        rows.append([words(name), words(load["about"]), words(load["sends"]), *map(words, both)])
    columns = [Column(name, numeric=False) for name in ("load", "what", "journeys", "the study's", "ours")]
    return Table(f"loads_{study['id']}", "The study's loads, and what was sent for them", columns, rows)


def _row(verdict: Verdict) -> list[Cell]:
    claim, effect = verdict["claim"], verdict["effect"]
    values = " and ".join(numbers.plain(value) for value in verdict["values"])
    reasons = (verdict["reason"], verdict["beside"], claim["why_topologies"])
    measured = Cell(numbers.NOTHING, None)
    if effect is not None:
        low, high = effect["ci95"]
        text = numbers.plain(effect["value"], signed=verdict["difference"])
        measured = Cell(f"{text} points" if verdict["difference"] else text, effect["value"], (low, high))
    return [
        words(claim["id"]),
        words(says(verdict)),
        words(" and ".join(claim["topologies"]) or numbers.NOTHING),
        words(claim["published"] or numbers.NOTHING),
        words(f"{values} {verdict['unit']}" if values else numbers.NOTHING),
        measured,
        words(verdict["outcome"], _TONES.get(verdict["outcome"], "")),
        words(size_text(verdict)),
        words(" ".join(filter(None, reasons))),
    ]


def _side(name: str) -> str:
    return {"n_plus_one": "graphql without batches", "dataloader": "graphql with batches"}.get(name, name)
