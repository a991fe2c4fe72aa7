"""How far traces of any system can be trusted, in sentences and a table."""

from __future__ import annotations

from collections.abc import Iterator

from hops.analysis.of_traces.operations import Trust
from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.elements.element import Element, Points
from hops.elements.table import Cell, Column, number, table_of, whole, words
from hops.units import NS_PER_MS

_UNITS = {1_000: "whole microseconds", 1_000_000: "whole milliseconds", 1_000_000_000: "whole seconds"}
_MOST_CLOCKS = 10


def trust_elements(trust: Trust) -> list[Element]:
    """What stands before any figure."""
    elements: list[Element] = [Points(list(_sentences(trust)))]
    differing = [clock for clock in trust.clocks if clock.differs][:_MOST_CLOCKS]
    if differing:
        caption = "Services whose clocks differ: how far the callee's is ahead, ms"
        columns = [
            (Column("caller", numeric=False), lambda one: words(one.caller)),
            (Column("callee", numeric=False), lambda one: words(one.callee)),
            (Column("calls"), lambda one: whole(one.calls)),
            (Column("ahead", "ms"), lambda one: _ms(one.ahead_ns)),
            (Column("at least", "ms"), lambda one: _ms(one.low_ns)),
            (Column("at most", "ms"), lambda one: _ms(one.high_ns)),
        ]
        elements.append(table_of("clocks", caption, differing, columns, heads=2))
    return elements


def _sentences(trust: Trust) -> Iterator[str]:
    quality = trust.quality
    share = numbers.share(trust.complete / quality.traces if quality.traces else 0.0)
    yield (
        f"{trust.complete:,} of {plural(quality.traces, 'trace')} ({share}) are complete: they have a root, no lost "
        "parent, and an answer to every call that should have one. All together have "
        f"{plural(quality.spans, 'span')}."
    )
    yield (
        f"The parts of every budget add up to its trace; the largest imbalance is {trust.gap_ns} ns. "
        f"{numbers.share(trust.unattributed)} of the time is unattributed."
    )
    for count, what in (
        (quality.orphans, "without their parent hang below the root, where they mostly cost nothing"),
        (quality.duplicates, "were reported more than once and count once"),
        (quality.missing_servers, "are calls that should have been answered and were not: unattributed"),
        (quality.given_up, "are calls that a proxy gave up"),
        (quality.skewed, "begin before their parent, or end before they begin: cut"),
        (quality.outlived, "end after their parent: cut, as nobody waited for the rest"),
        (trust.nameless, "name no service and count as unknown_service"),
    ):
        if count:
            yield f"{plural(count, 'span')} {what}."
    for count, what in (
        (quality.two_roots, "with several roots: the budget is that of the longest one"),
        (quality.empty, "without any root have no budget"),
        (
            trust.linked,
            "whose root is linked to another trace: what came before, such as a queue, is in neither budget",
        ),
    ):
        if count:
            yield f"{plural(count, 'trace')} {what}."
    if trust.resolution_ns > 1:
        yield f"All times are {_UNITS[trust.resolution_ns]}: a part is off by up to one of them for each end of a span."
    yield _clocks(trust)
    if trust.unused:
        yield f"Patterns of the file of names that fit nothing: {'; '.join(trust.unused)}."


def _clocks(trust: Trust) -> str:
    differing = [clock for clock in trust.clocks if clock.differs]
    unsteady = sum(clock.low_ns > clock.high_ns for clock in trust.clocks)
    if not trust.clocks:
        return "No service calls another by CLIENT and SERVER spans, so nothing is known of their clocks."
    said = (
        f"Clocks: of {plural(len(trust.clocks), 'pair')} of services that call each other, "
        f"{len(differing)} have clocks that differ for certain"
    )
    if unsteady:
        said += f"; for {unsteady} no one offset fits all calls, as where spans are closed late"
    if trust.corrected:
        moved = ", ".join(f"{name} by {-offset / NS_PER_MS:+.3f} ms" for name, offset in trust.corrected.items())
        return f"{said}. Corrected, as asked: {moved}."
    return f"{said}.{' Nothing was corrected; --correct-clocks does it.' if differing else ''}"


def _ms(ns: int) -> Cell:
    return number(ns / NS_PER_MS, signed=True)
