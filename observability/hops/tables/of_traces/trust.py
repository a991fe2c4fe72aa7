"""How trustworthy any system's traces are, in sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator

from hops.analysis.of_traces.operations import Trust
from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.elements.element import Element, Points
from hops.elements.table import Cell, Column, number, table_of, whole, words
from hops.units import NS_PER_MS

_UNITS = {1_000: "whole microseconds", 1_000_000: "whole milliseconds", 1_000_000_000: "whole seconds"}
_MAX_CLOCKS = 10
_DEFECTS = {
    "orphans": "Spans without their parent, which hang below the root and mostly cost nothing",
    "rings": "Of these, spans that are their own ancestors",
    "duplicates": "Spans that were reported again, and count once",
    "missing_servers": "Calls that lack the answer that they should have; their time is unattributed",
    "joined": "Answers that hang next to their call and not below it, joined with it by their times",
    "shared": "Calls that waited for the answer of another call, such as a request that a gateway shares",
    "given_up": "A proxy's calls that ended before an answer",
    "skewed": "Spans that begin before their parent, or end before they begin; cut there",
    "backwards": "Of these, spans that end before they begin",
    "outlived": "Spans that end after their parent, for example because nobody waits for the rest; cut there",
    "two_roots": "Traces with several roots, whose budget is that of the longest one",
    "empty": "Traces without a root, and so without a budget",
    "followers": "Spans that follow another span, which does not wait for them (FOLLOWS_FROM)",
    "unfinished": "Spans without an end or without times; they last as long as the spans below them",
    "misdated": "Spans with impossible times (before 1971, after 2099, or longer than a year)",
    "left_out": "Traces left out of all figures, because their root has no times or impossible times, or ends before "
    "it begins",
}


def trust_elements(trust: Trust, *, end_to_end: bool = False) -> list[Element]:
    """Shows what a reader must know first; `end_to_end`: whether budgets reach the end of the last span."""
    elements: list[Element] = [Points([*_sentences(trust), *_ends(trust, end_to_end=end_to_end)])]
    differing = [clock for clock in trust.clocks if clock.differs]
    if differing:
        which = f", the {_MAX_CLOCKS} largest differences" if len(differing) > _MAX_CLOCKS else ""
        caption = f"Services whose clocks differ{which}: how far the callee's is ahead, ms"
        columns = [
            (Column("caller", numeric=False), lambda one: words(one.caller)),
            (Column("callee", numeric=False), lambda one: words(one.callee)),
            (Column("calls"), lambda one: whole(one.calls)),
            (Column("ahead", "ms"), lambda one: _ms(one.ahead_ns)),
            (Column("at least", "ms"), lambda one: _ms(one.low_ns)),
            (Column("at most", "ms"), lambda one: _ms(one.high_ns)),
        ]
        elements.append(table_of("clocks", caption, differing[:_MAX_CLOCKS], columns, heads=2))
    return elements


def _sentences(trust: Trust) -> Iterator[str]:
    quality = trust.quality
    share = numbers.share(trust.complete / quality.traces if quality.traces else 0.0)
    yield (
        f"Complete: {trust.complete:,} of {plural(quality.traces, 'trace')} ({share}), with a root, no lost parent "
        f"and an answer to every call that should have one. All together: {plural(quality.spans, 'span')}."
    )
    yield (
        f"The parts of every budget add up to its trace; the largest imbalance is {trust.gap_ns} ns. "
        f"{numbers.share(trust.unattributed)} of the time is unattributed."
    )
    for name, what in _DEFECTS.items():
        if count := getattr(quality, name):
            yield f"{what}: {count:,}. The first is in trace {trust.first[name]}."
    if trust.nameless:
        yield f"Spans that name no service and count as unknown_service: {trust.nameless:,}."
    if trust.early:
        yield (
            f"Traces of 1970: {trust.early:,}. Their times count from 0, or have the wrong unit for their format; "
            "then these figures have it too."
        )
    if trust.linked:
        yield (
            f"Traces whose root is linked to another trace: {trust.linked:,}. What came before, such as a queue, is in "
            "neither budget."
        )
    if trust.resolution_ns > 1:
        yield f"All times are {_UNITS[trust.resolution_ns]}: a part is off by up to one of them for each end of a span."
    yield _clocks(trust)
    outside = sorted((one for one in trust.clocks if one.outside and not one.differs), key=lambda one: -one.outside_ns)
    if outside:
        text = "; ".join(
            f"{one.callee} answered {one.outside:,} of {one.calls:,} calls of {one.caller}, by up to "
            f"{one.outside_ns / NS_PER_MS:,.3f} ms"
            for one in outside[:_MAX_CLOCKS]
        )
        if len(outside) > _MAX_CLOCKS:
            text += f"; and less for {plural(len(outside) - _MAX_CLOCKS, 'more pair')} of services"
        yield (
            f"Outside the time of the call, for example because one of several hosts has another clock: {text}. The "
            "time outside counts as wire."
        )
    if trust.unused:
        yield f"These patterns in the file of names match nothing: {'; '.join(trust.unused)}."


def _ends(trust: Trust, *, end_to_end: bool) -> Iterator[str]:
    if end_to_end:
        yield "Each budget extends from the root's start to the end of the last span, including queues."
    elif trust.going_on:
        last = "lasts" if trust.going_on == 1 else "last"
        mean_ms, longest_ms = trust.after_ns / trust.going_on / NS_PER_MS, trust.longest_ns / NS_PER_MS
        yield (
            f"Beyond the root's end: {trust.going_on:,} of {plural(trust.quality.traces, 'trace')} {last} longer, by "
            f"{mean_ms:,.3f} ms on average and {longest_ms:,.3f} ms at most (trace {trust.longest}). That time is in "
            "no budget; --end-to-end includes it."
        )


def _clocks(trust: Trust) -> str:
    differing = [clock for clock in trust.clocks if clock.differs]
    unsteady = sum(clock.low_ns > clock.high_ns for clock in trust.clocks)
    if not trust.clocks:
        return "No service calls another by CLIENT and SERVER spans, so their clocks are unknown."
    text = (
        f"Clocks: of {plural(len(trust.clocks), 'pair')} of services that call each other, "
        f"{len(differing)} with clocks that certainly differ"
    )
    if unsteady:
        text += f"; for {unsteady} no single offset fits all calls, for example because spans are closed late"
    if trust.corrected:
        moved = ", ".join(f"{name} by {-offset / NS_PER_MS:+.3f} ms" for name, offset in trust.corrected.items())
        return f"{text}. Corrected, as requested: {moved}."
    return f"{text}.{' Nothing was corrected; --correct-clocks does it.' if differing else ''}"


def _ms(ns: int) -> Cell:
    return number(ns / NS_PER_MS, signed=True)
