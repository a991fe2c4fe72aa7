"""The critical path of one trace: what its customer waited for, at every nanosecond.

The idea is that of Zhang et al., "CRISP: Critical Path Analysis of Large-Scale Microservice Architectures" (USENIX
ATC 2022): stand at the end of a span, go to the child that finished last before, walk through it in the same way,
and go on from the moment it began. Whatever no child covers is the span's own time.

Traps, and what is done about each:

- *Parallel children.* Only the one that finished last held its parent up; the others, in its shadow, cost nothing.
- *Overlap.* "Finished before" taken literally loses a call whose span was closed a little after the next one began,
  and its whole time turns into its parent's own work. Taken loosely ("began before"), every call of a fan-out gets
  the microseconds in which its parent was busy starting the next. Here a child still running at the moment in hand
  counts as finished when the larger part of it lies behind.
- *Children that outlive their parent.* A callee closes its span just after its caller has the last byte: cut, and on
  the path. A job that goes on for long after the answer was not waited for: by the same rule it is not.
- *Clocks.* A child can begin before its parent only on another clock; intervals were clipped before (see `tree`).
- *Depth.* A chain of calls may be deeper than the interpreter's stack: there is no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hops.tree import Node


class Segment(NamedTuple):
    """A stretch of time that belongs to one span, no child of it on the path.

    Args:
        node: the span.
        start_ns: Unix time, ns.
        end_ns: Unix time, ns; more than start_ns.
    """

    node: Node
    start_ns: int
    end_ns: int


def walk(root: Node) -> Iterator[Segment]:
    """Yields the critical path from the root's end backwards.

    The segments touch each other and cover the root's interval exactly once. Costs O(n), after the O(n log n) of
    sorting siblings in `tree.grow`.

    Args:
        root: of a grown tree: children inside their parents, those that ended last first.
    """
    moment = root.end_ns
    frames = [(root, iter(root.children))]
    while frames:
        node, children = frames[-1]
        for child in children:
            start = child.start_ns
            end = child.end_ns
            if start >= moment or end <= start:
                continue
            reported_end = child.span.end_ns
            if reported_end > moment:
                if start + reported_end > moment + moment:
                    continue
                if end > moment:
                    end = moment
            if end < moment:
                yield Segment(node, end, moment)
                moment = end
            frames.append((child, iter(child.children)))
            break
        else:
            if node.start_ns < moment:
                yield Segment(node, node.start_ns, moment)
                moment = node.start_ns
            frames.pop()
