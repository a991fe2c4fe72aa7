"""The critical path of one trace: what its customer waited for, at every nanosecond.

The idea is that of Zhang et al., "CRISP: Critical Path Analysis of Large-Scale Microservice Architectures" (USENIX
ATC 2022). Begin at the end of a span, and go to the child that finished last before that moment. Walk through it in the
same way, and continue from the moment it began. Time that no child covers is the span's own.

ADR 012 has the reasons for two rules:

- A child that still runs at the current moment counts as finished if at most a fifth of it lies ahead.
- The SERVER below a CLIENT was waited for until the CLIENT ended, however much later the SERVER ended. The first rule
does not apply to such a callee (`is_try`). Its inside is walked from its own end, but only the time up to the CLIENT's
end counts.

A chain of calls may be deeper than the interpreter's stack, so there is no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator

from hops.traces.tree import Node

AHEAD_PERCENT = 20
"""Maximum share of a child that may lie ahead, at the current moment, for the child to count as finished."""


Segment = tuple[Node, int, int]
"""Time of one span during which no child of it is on the path: node, start and end, Unix time, ns; end after start."""


def walk(root: Node, ahead_percent: int = AHEAD_PERCENT, above: dict[Node, Node] | None = None) -> Iterator[Segment]:
    """Yields the critical path from the root's end backwards.

    The segments are contiguous and cover the root's interval exactly once. Costs O(n), after the O(n log n) of
    sorting siblings in `tree.grow`.

    Args:
        root: Root of a grown tree: children are inside their parents, and sorted by end, the last first.
        above: Receives, for each span on the path, the span above it, before the span's first segment; None if not
            needed.
    """
    moment = covered = root.end_ns
    frames = [(root, iter(root.children))]
    while frames:
        node, children = frames[-1]
        for child in children:
            start = child.began_ns
            ended = child.ended_ns
            if start >= moment or ended <= start:
                continue
            if ended > moment:
                if not child.is_try and (ended - moment) * 100 > ahead_percent * (ended - start):
                    continue
                ended = moment
            if ended < covered:
                yield node, ended, covered
                covered = ended
            if above is not None:
                above[child] = node
            if not child.children:
                moment = start
                if moment < covered:
                    yield child, moment, covered
                    covered = moment
                continue
            # A callee that continued after its call is walked backwards from its own end, not from the call's end.
            moment = child.span.end_ns if child.is_try else ended
            frames.append((child, iter(child.children)))
            break
        else:
            moment = node.began_ns
            if moment < covered:
                yield node, moment, covered
                covered = moment
            frames.pop()
