"""What runs at the same time as slow journeys, in sentences.

These sentences do not show causes: a pause, or a busy disk, slows everything that runs at the same time. `make isolate`
shows causes.
"""

from __future__ import annotations

from hops.conclusions.wording import excludes_zero
from hops.elements.numbers import figure, share
from hops.run.documents.meeting import Meeting
from hops.run.documents.summary import Summary
from hops.units import ALL

MIN_WAIT_SHARE = 0.05
"""Minimum share of a topology's mean latency that meetings with one kind of journey must add to be mentioned."""
MIN_OF_DIFFERENCE = 0.1
"""Minimum share of the difference between two means that meetings with one kind must make up to be mentioned."""
MIN_OF_TAIL = 0.5
"""Minimum share of the journeys above p99 that must have met a kind of journey for that kind to be mentioned."""


def meeting_sentences(summary: Summary) -> list[str]:
    """Describes what ran at the same time as slower journeys in each topology, if it matters; largest effect first."""
    sentences = []
    for name, one in summary["topologies"].items():
        mean_ms = one["journeys"][ALL]["latency_ms"]["mean"]
        row = _costliest(summary, name, ALL)
        if row is None or mean_ms is None or row["mean_ms"] < MIN_WAIT_SHARE * mean_ms:
            continue
        of_mean = row["mean_ms"] / mean_ms
        text = (
            f"In {name}, {share(row['share'])} of all journeys ran at the same time as a {row['met']}, and took "
            f"{figure(row['more']['value'], row['more']['ci95'], 'ms')} longer than others like them: "
            f"{share(of_mean, 0)} of the mean. {_test_of(summary, row)}"
        )
        sentences.append((of_mean, text))
    return [text for _, text in sorted(sentences, key=lambda one: -one[0])]


def wait_sentences(summary: Summary, journey: str, metric: str, left: str, right: str) -> list[str]:
    """Describes what ran at the same time as slower journeys of the right topology, which is the slower one."""
    text = _of_means(summary, journey, left, right) if metric == "p50" else _of_tail(summary, journey, right)
    return [text] if text else []


def _of_means(summary: Summary, journey: str, left: str, right: str) -> str | None:
    """Compares the difference between the means with the extra time of journeys that met one kind of journey.

    The extra time in the faster topology is subtracted from that in the slower topology.
    """
    means = [summary["topologies"][name]["journeys"][journey]["latency_ms"]["mean"] for name in (left, right)]
    row = _costliest(summary, right, journey)
    if row is None or means[0] is None or means[1] is None:
        return None
    in_left = (one["mean_ms"] for one in _rows(summary, left, journey) if one["met"] == row["met"])
    saved, between = row["mean_ms"] - next(in_left, 0.0), means[1] - means[0]
    if between <= 0 or saved < MIN_OF_DIFFERENCE * between:
        return None
    whole = f"the {figure(between, unit='ms')} between the means of {_all_of(journey)}"
    part = f"{figure(saved)} of {whole}" if saved <= between else f"{figure(saved, unit='ms')}, more than {whole}"
    return (
        f"With {right}, {share(row['share'])} of {_all_of(journey)} ran at the same time as a {row['met']}, and took "
        f"{figure(row['more']['value'], row['more']['ci95'], 'ms')} longer than others like them. "
        f"That is {part}. {_test_of(summary, row)}"
    )


def _of_tail(summary: Summary, journey: str, topology: str) -> str | None:
    """Describes what ran at the same time as a topology's slowest journeys; None if no kind of journey qualifies.

    If too few journeys met that kind for a p99, the sentence says how much longer they took on average.
    """
    rows = [
        row
        for row in _rows(summary, topology, journey)
        if (row["beyond_p99"] or 0.0) >= max(MIN_OF_TAIL, row["share"])
        and _is_longer(row["percentiles"].get("p99", row["more"])["ci95"])
    ]
    row = max(rows, key=lambda row: row["beyond_p99"] or 0.0, default=None)
    if row is None:
        return None
    if "p99" in row["percentiles"]:
        more = row["percentiles"]["p99"]
        text = f"have a p99 {figure(more['value'], more['ci95'], 'ms')} higher"
    else:
        text = f"took {figure(row['more']['value'], row['more']['ci95'], 'ms')} longer on average"
    return (
        f"Of {'the journeys' if journey == ALL else f'the {journey} journeys'} of {topology} above its p99, "
        f"{share(row['beyond_p99'], 0)} ran at the same time as a {row['met']} ({share(row['share'], 0)} of all did). "
        f"Such journeys {text}. {_test_of(summary, row)}"
    )


def _test_of(summary: Summary, row: Meeting) -> str:
    """Names the experiment that shows whether one kind waits for the other."""
    of = {None: f" topology={row['topology']}", "target": " target=FILE"}.get(summary.get("compared"), "")
    return f"“make isolate{of} journey={row['met']}” shows whether that made them slower."


def _costliest(summary: Summary, topology: str, journey: str) -> Meeting | None:
    """Finds the kind of journey whose meetings add the most to the mean; None if that addition is not shown."""
    row = max(_rows(summary, topology, journey), key=lambda row: row["mean_ms"], default=None)
    return row if row is not None and _is_longer(row["more"]["ci95"]) else None


def _rows(summary: Summary, topology: str, journey: str) -> list[Meeting]:
    return [row for row in summary.get("meetings", []) if (row["topology"], row["journey"]) == (topology, journey)]


def _is_longer(ends: list[float | None]) -> bool:
    return excludes_zero(ends) and ends[0] is not None and ends[0] > 0


def _all_of(journey: str) -> str:
    return "all journeys" if journey == ALL else f"all {journey} journeys"
