"""The critical path of one trace: what its customer waited for, at every nanosecond.

The idea is that of Zhang et al., "CRISP: Critical Path Analysis of Large-Scale Microservice Architectures" (USENIX
ATC 2022): stand at the end of a span, go to the child that finished last before, walk through it in the same way,
and go on from the moment it began. Whatever no child covers is the span's own time.

Traps, and what is done about each:

- *Parallel children.* Only the one that finished last held its parent up; the others, in its shadow, cost nothing.
- *Overlap.* "Finished before" taken literally loses a call whose span was closed a little after the next one began,
  and its whole time turns into its parent's own work. Taken loosely ("began before"), every call of a fan-out gets
  the microseconds in which its parent was busy starting the next. Here a child still running at the moment in hand
  counts as finished when at most a fifth of it lies ahead (ADR 012).
- *Children that outlive their parent.* A call that closes its span just after its caller has the last byte: cut, and
  on the path. A job that goes on for long after the answer was not waited for: by the same rule it is not.
- *Callees that outlive their call.* The SERVER below a CLIENT was waited for until the CLIENT ended, however much
  later it ended itself: a callee that hangs must not read as network. The rule above does not apply to it (`is_try`).
  Inside, what held the callee up is on the path from its own end, of which the part up to the CLIENT's end counts.
- *Clocks.* A child can begin before its parent only on another clock; intervals were clipped before (see `tree`).
- *Depth.* A chain of calls may be deeper than the interpreter's stack: there is no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator

from hops.traces.tree import Node

AHEAD_PERCENT = 20
"""How much of a child that still runs at the moment in hand may lie ahead for it to count as finished."""


Segment = tuple[Node, int, int]
"""Time that belongs to one span, no child of it on the path: its node, start and end, Unix time, ns; end after
start."""


def walk(root: Node, ahead_percent: int = AHEAD_PERCENT) -> Iterator[Segment]:
    """Yields the critical path from the root's end backwards.

    The segments touch each other and cover the root's interval exactly once. Costs O(n), after the O(n log n) of
    sorting siblings in `tree.grow`.

    Args:
        root: Root of a grown tree: children inside their parents, those that ended last first.
        ahead_percent: Limit for a sibling that ran ahead; see `AHEAD_PERCENT`.
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
            if not child.children:
                moment = start
                if moment < covered:
                    yield child, moment, covered
                    covered = moment
                continue
            # A callee that went on after its call had done so all the while on a path of its own, back from its end.
            moment = child.span.end_ns if child.is_try else ended
            frames.append((child, iter(child.children)))
            break
        else:
            moment = node.began_ns
            if moment < covered:
                yield node, moment, covered
                covered = moment
            frames.pop()
