"""Sentences other than comparisons: cost, what was not shown, and whether to trust the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hops.analysis.comparisons import CPU
from hops.analysis.either_order import Pairs
from hops.conclusions.wording import join_names, negate_interval, plural, sentence
from hops.elements.compared import Compared, compared_in
from hops.elements.numbers import excess, figure, share
from hops.gates.limits import gate_name
from hops.gates.verdict import MEANING, failing_gates
from hops.run.documents.difference import Comparison, Difference
from hops.run.documents.gate import VALID, TrialVerdict
from hops.run.documents.summary import Precision, Summary
from hops.run.switches import mesh_text, replicas_text
from hops.units import ALL

TOTAL, ORIGIN = "total", "origin"
EDGE_CACHE_ARM = "-edge-cache"
"""Suffix of an arm with a shared cache; the rest of its name is the name of the same arm without the cache."""
STEADY = 0.9
"""If the slowest trial's machine speed is above this share of the fastest trial's, the machine counts as steady."""
MAX_FIGURES = 3
"""Maximum number of figures with intervals in a sentence; readers skip longer sentences."""
_COST = "core-hours"


def switch_sentences(summary: Summary) -> list[str]:
    """Describes the mesh and the replicas; empty without them."""
    texts = {"Mesh": mesh_text(summary["switches"]), "Replicas": replicas_text(summary["switches"])}
    return [f"{name}: {text}." for name, text in texts.items() if text]


def cost_sentences(summary: Summary, pairs: Pairs) -> list[str]:
    """Describes what a million journeys cost, cheapest first, and which differences in CPU time are shown."""
    totals = {name: one["cost"][TOTAL] for name, one in summary["topologies"].items() if TOTAL in one["cost"]}
    if not totals:
        return []
    ranked = sorted(totals, key=lambda name: totals[name]["value"])
    costs = [f"{figure(totals[name]['value'], totals[name]['ci95'], _COST)} with {name}" for name in ranked]
    sentences = [f"A million journeys cost {join_names(costs[:MAX_FIGURES])}, excluding the load generator."]
    rest = range(MAX_FIGURES, len(costs), MAX_FIGURES)
    sentences += [f"They cost {join_names(costs[at : at + MAX_FIGURES])}." for at in rest]
    best = ranked[0]
    for other in ranked[1:]:
        if text := cpu_sentence(pairs.comparison(ALL, CPU, best, other)):
            sentences.append(text)
    return sentences


def cpu_sentence(row: Comparison | None) -> str:
    """Says which topology takes less CPU time for a journey, or that no difference is shown; empty if not tested."""
    if row is None or row["difference"] is None or row["verdict"] == "unknown":
        return ""
    left, right = row["left"], row["right"]
    if row["verdict"] == "left_lower":
        saved = figure(-row["difference"], negate_interval(row["ci95"]), "ms")
        return f"A journey takes {saved} less CPU with {left} than with {right}."
    amount = figure(row["difference"], row["ci95"], "ms")
    if row["verdict"] == "right_lower":
        return f"A journey takes {amount} less CPU with {right} than with {left}."
    return f"No difference in CPU shown between {left} and {right}: {amount} per journey{and_seen(row)}."


def load_sentences(summary: Summary) -> list[str]:
    """Describes how close to saturation the run was: CPU use of each topology, and the busiest component."""
    in_use = summary.get("in_use", {})
    if not in_use:
        return []
    where = " in {}" if len(in_use) > 1 else ""
    known = {name: one["machine"] for name, one in in_use.items() if one["machine"] is not None}
    slowest = max(in_use, key=lambda name: in_use[name]["core"])
    component = (
        f"The busiest single component was {in_use[slowest]['component']}{where.format(slowest)}, with "
        f"{share(in_use[slowest]['core'], 0)} of one processor."
    )
    if not known:
        return [component]
    most, least = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    others = f" and {least} {share(known[least], 0)}" if least != most else ""
    rate = figure(summary["topologies"][most]["throughput_per_s"])
    machine = "cluster" if "resources_from" in summary else "machine"
    text = f"At {rate} journeys a second, {most} used {share(known[most], 0)} of this {machine}'s processors{others}."
    return [text, component]


def cache_sentences(summary: Summary) -> list[str]:
    """Describes how often each service found what it needed in its cache; empty for a run without a cache."""
    sentences = []
    for topology, counts in summary.get("cache", {}).items():
        hits = {name: share(one["hits"] / one["asked"], 0) for name, one in counts.items() if one["asked"]}
        unanswered = sum(one["unanswered"] for one in counts.values())
        text = f"Cache hits of {topology}: {', '.join(f'{name} {of_all}' for name, of_all in hits.items()) or 'none'}"
        sentences.append(text + (f"; {plural(unanswered, 'question')} got no answer in time." if unanswered else "."))
    return sentences


def edge_cache_sentences(summary: Summary) -> list[str]:
    """Describes what a shared cache in front of the edge answered, what it passed on, and what it saved the shop."""
    topologies, sentences = summary["topologies"], []
    for name, one in topologies.items():
        cache = one.get("edge_cache")
        if cache is None:
            continue
        hits, fetches, size = cache["hit_share"], cache["fetches"], cache["bytes"]
        ends = [None if end is None else 100 * end for end in hits["ci95"]]
        sentences.append(
            f"The edge cache of {name} answered {figure(100 * hits['value'], ends, '%')} of the requests; for each "
            f"journey, {figure(fetches['value'], fetches['ci95'], 'requests')} reached the edge, with "
            f"{figure(size['value'], size['ci95'], 'bytes')} both ways."
        )
        without = topologies.get(name.removesuffix(EDGE_CACHE_ARM))
        if without is not None and "edge_cache" not in without and ORIGIN in one["cost"] and ORIGIN in without["cost"]:
            behind, before = one["cost"][ORIGIN], without["cost"][ORIGIN]
            sentences.append(
                f"Behind it, a million journeys cost {figure(behind['value'], behind['ci95'], _COST)}, without it "
                f"{figure(before['value'], before['ci95'], _COST)}, telemetry excluded."
            )
    return sentences


def doubt_sentences(summary: Summary) -> list[str]:
    """Counts the comparisons that show no difference, and names the untested comparisons, with the reasons."""
    sentences = []
    for metric in ("p50", "p99"):
        rows = [row for row in summary["comparisons"] if row["metric"] == metric and row["journey"] != ALL]
        tested = [row for row in rows if row["verdict"] != "unknown"]
        silent = sum(row["verdict"] == "not_shown" for row in tested)
        if silent:
            seen = visible_range(tested)
            sentences.append(
                f"At {metric}, {silent:,} of {plural(len(tested), 'comparison')} of two {compared_in(summary).many} in "
                f"a journey {'shows' if silent == 1 else 'show'} no difference; this does not mean that there is none."
                + (f" In them this run would have seen {seen}." if seen else "")
            )
    pairs = Counter((row["metric"], row["journey"]) for row in summary["comparisons"])
    untested = Counter(
        (row["metric"], row["reason"], row["journey"])
        for row in summary["comparisons"]
        if row["verdict"] == "unknown" and row["reason"]
    )
    names: dict[str, dict[str, list[str]]] = {}
    for (metric, reason, journey), count in untested.items():
        some = "" if count == (of := pairs[metric, journey]) else f"{count:,} of {of:,} pairs in "
        what = "all journeys" if journey == ALL else journey
        names.setdefault(metric, {}).setdefault(reason, []).append(f"{some}{what}")
    return sentences + [
        f"Not tested {'for CPU time' if metric == CPU else f'at {metric}'}: {join_names(named)} ({reason})."
        for metric, by_reason in names.items()
        for reason, named in by_reason.items()
    ]


def and_seen(row: Difference) -> str:
    """Gives the smallest detectable difference of a comparison, as a clause after its figures; empty if unknown."""
    return "" if row["visible_ratio"] is None else f", and this run would have seen {excess(row['visible_ratio'])}"


def visible_range(rows: Sequence[Difference]) -> str:
    """Gives the range of the smallest detectable differences of comparisons that show none; empty if unknown."""
    silent = (row["visible_ratio"] for row in rows if row["verdict"] == "not_shown")
    ratios = [ratio for ratio in silent if ratio is not None]
    return excess(min(ratios), max(ratios)) if ratios else ""


def validity_sentences(summary: Summary) -> list[str]:
    """Describes which gates fail in how many trials, what drove the load, and what tracing adds."""
    sentences = []
    trials = _trials(summary)
    reasons = Counter(gate_name(name) for row in trials if row["used"] for name in row["reasons"])
    if reasons:
        failing = join_names([f"{reason} ({plural(count, 'trial')})" for reason, count in reasons.most_common()])
        sentences.append(f"Failed gates: {failing}.")
    replaced = sum(not row["used"] for row in trials)
    if replaced:
        sentences.append(
            f"{plural(replaced, 'trial')} {'was' if replaced == 1 else 'were'} run again; the earlier attempt is kept "
            "and not counted."
        )
    if "precision" in summary:
        sentences.append(precision_sentence(summary["precision"], summary["blocks"], compared_in(summary)))
    slow = _slowed_machine(trials)
    if slow:
        sentences.append(slow)
    sentences.append("Milliseconds are for the machine's speed in this run; ratios carry over to other speeds.")
    if summary["closed"] is not None:
        slow_one = f"a slow {compared_in(summary).one}"
        sentences.append(f"The load is a closed loop: {slow_one} gets less of it, which flatters its figures.")
    if summary["observer_effect_ms"]["p50"] is not None:
        sentences.append(f"{observer_sentence(summary)} The figures above include it.")
    return [sentence(text) for text in sentences]


def precision_sentence(precision: Precision, blocks: int, compared: Compared) -> str:
    """Describes which precision was requested, and whether the run reached it."""
    asked = f"A precision of {share(precision['asked'], 1)} was requested"
    scatter, needed, reached = precision["scatter"], precision["needed"], precision["reached"]
    if scatter is None or needed is None or reached is None:
        return f"{asked}, and it is not known how many blocks it takes: a pair of {compared.many} has no interval."
    reach = (
        f"The widest 95 % interval of a ratio of two {compared.many}' p50, over all journeys, reaches "
        f"{share(reached, 1)} beyond the ratio."
    )
    if precision["met"]:
        return f"{asked}, and {plural(blocks, 'block')} reached it. {reach}"
    return (
        f"{asked} and NOT REACHED: trials scatter by {share(scatter, 1)}, so it takes {needed:,} blocks, more than can "
        f"be run. {plural(blocks, 'block')} ran. {reach}"
    )


def _slowed_machine(trials: Sequence[TrialVerdict]) -> str:
    """Warns if the machine was not equally fast in all trials; empty if it was, or if its speed was not measured."""
    speeds = {(row["block"], row["topology"]): row["machine_speed"] for row in trials if row["used"]}
    known = {trial: speed for trial, speed in speeds.items() if speed is not None}
    if len(known) < 2 or min(known.values()) > STEADY:
        return ""
    (block, topology), slowest = min(known.items(), key=lambda item: item[1])
    return (
        f"The machine itself was not equally fast in all trials: in block {block} of {topology} a fixed piece of "
        f"work took {1 / slowest:.1f} times as long as in its fastest trial. Ratios within a block suffer less from "
        "that than absolute figures do."
    )


def verdict_sentence(summary: Summary) -> str:
    """Describes the verdict and the failing gates, and in how many trials they fail; replaced trials do not count."""
    every = _trials(summary)
    trials = [row for row in every if row["used"]]
    verdict = summary["verdict"]
    if verdict == VALID:
        repeated = len(every) - len(trials)
        again = f"; {repeated} {'was' if repeated == 1 else 'were'} repeated" if repeated else ""
        return f"{verdict}: {MEANING[verdict]}, in {plural(len(trials), 'trial')}{again}."
    why = "; ".join(gate_name(name) for name in failing_gates(summary["gates"]))
    failing = sum(bool(row["reasons"]) for row in trials)
    counted = f"{failing} of {plural(len(trials), 'trial')} {'fails' if failing == 1 else 'fail'} a gate"
    if not failing:
        counted = "Each trial passes its gates, but the run as a whole does not"
    return f"{verdict}: {why}. {counted}: {MEANING[verdict]}."


def failing_trials(summary: Summary) -> list[str]:
    """Lists the trials in which a gate fails, with the reasons, including trials that a later attempt replaced."""
    return [
        f"{row['verdict']}: block {row['block']}, {row['topology']}"
        + (f", attempt {row['attempt']}" if row["attempt"] not in (None, 1) else "")
        + ("" if row["used"] else " (replaced by a later attempt)")
        + f": {'; '.join(map(gate_name, row['reasons']))}."
        for row in _trials(summary)
        if row["reasons"]
    ]


def observer_sentence(summary: Summary) -> str:
    """Describes what tracing adds to the latency."""
    effect = summary["observer_effect_ms"]
    if effect["p50"] is None:
        return "The cost of tracing was not measured: too few sampled or unsampled journeys."
    return f"Tracing adds {figure(effect['p50'], effect['ci95'], 'ms')} to the median latency of a traced journey."


def _trials(summary: Summary) -> list[TrialVerdict]:
    return [row for row in summary["verdicts"] if row["topology"] is not None]
