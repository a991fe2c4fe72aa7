"""Call paths: the chain of calls below which each nanosecond of a budget was spent.

A path lists the parts of the spans from the root down to the span whose own time it is. These are the frames of a flame
graph. Spans of the same part below each other are one frame.

For example:

    client;wire:client→edge;proxy:edge;wire:edge→order;work:order;db:order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from hops.traces.tree import Node

SEPARATOR = ";"
MAX_DEPTH = 64
"""Maximum number of frames in a path; the frames of a deeper recursion replace the last."""
_MAX_KNOWN = 1 << 16


class CallPaths:
    """Adds up the time, ns, of one trace by call path; `walk` fills `above`, the span above each span on the path."""

    def __init__(self, part_of: Callable[[Node], str]) -> None:
        self.above: dict[Node, Node] = {}
        self.ns: dict[str, int] = {}
        self._part_of = part_of
        self._known: dict[Node, str] = {}

    def add(self, node: Node, ns: int, queue: str = "") -> None:
        """Adds time of a span on the critical path, to the span's own part or to a `queue` below it."""
        path = self._known.get(node) or self._find(node)
        if queue:
            path = extend(path, queue)
        self.ns[path] = self.ns.get(path, 0) + ns

    def _find(self, node: Node) -> str:
        """Finds the path of a span, and of the spans above it that had no time so far."""
        unknown: list[Node] = []
        upper: Node | None = node
        while upper is not None and upper not in self._known:
            unknown.append(upper)
            upper = self.above.get(upper)
        path = "" if upper is None else self._known[upper]
        for one in reversed(unknown):
            path = self._known[one] = extend(path, self._part_of(one))
        return path


@lru_cache(_MAX_KNOWN)
def extend(path: str, part: str) -> str:
    """Adds a frame to a path, which is empty above a root, unless the last frame is the same part."""
    part = part.replace(SEPARATOR, ",")
    above, _, last = path.rpartition(SEPARATOR)
    if not path:
        return part
    if last == part:
        return path
    return f"{above if path.count(SEPARATOR) + 1 >= MAX_DEPTH else path}{SEPARATOR}{part}"


def frames_of(path: str) -> Iterator[str]:
    """Lists the frames around a path's time, the root's first; each is named by its own path."""
    end = path.find(SEPARATOR)
    while end >= 0:
        yield path[:end]
        end = path.find(SEPARATOR, end + 1)
    yield path
