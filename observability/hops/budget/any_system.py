"""Hop budgets of traces of any system.

A trace follows the shop's conventions if one of its spans has the attribute `shop.journey`, which the shop's generator
puts on every root. Only then do names such as `client`, `edge` or `order-inbound` mean generator, proxy and sidecar.
In all other traces a name is only a name. If the root has the attribute `load.journey`, `hopwise load` began the trace,
and the generator's spans have the parts of `hops.budget.parts`, such as `client:waiting`. The parts of all other spans
are in docs/results/your-own-traces.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import intern

from msgspec.structs import replace

from hops.budget.call_paths import SEPARATOR
from hops.budget.mapping import NameMap
from hops.budget.parts import GENERATOR, LOOP_BUSY, THINK_SPAN, Budget, budget_of_tree, is_entry, part_of, queue_of
from hops.budget.unanswered import name_unanswered, store_part
from hops.traces.end_to_end import after_root_ns, to_the_end
from hops.traces.foreign import grow_any
from hops.traces.shared import lend_answers
from hops.traces.span import CLIENT, INTERNAL, PRODUCER, SERVER, Span
from hops.traces.tree import ADJUSTERS, LOAD_CHANNEL, LOAD_JOURNEY, SHOP_JOURNEY, Node, Tree, grow

_TO_THE_END = to_the_end(ADJUSTERS)


def is_shops(spans: Iterable[Span]) -> bool:
    """Decides, for all other code, whether a trace follows the shop's conventions."""
    return any(SHOP_JOURNEY in span.attributes for span in spans)


def tree_of(spans: Sequence[Span], names: NameMap | None = None, *, end_to_end: bool = False) -> Tree:
    """Builds the tree of one trace of any system; each node has its part unless the trace is the shop's."""
    shops = is_shops(spans)
    if names is not None:
        spans = names.rename(list(spans))
    if shops:
        tree = grow(spans, _TO_THE_END if end_to_end else None)
    else:
        tree = grow_any(spans, end_to_end=end_to_end)
        name_unanswered(tree)
        for node in tree.nodes:
            if not (tree.is_of_load and node.span.service == GENERATOR and node.span.kind is not CLIENT):
                node.part = node.part or _part(node)
    if names is not None and names.parts:
        for node in tree.nodes:
            part = part_of(node)
            if (renamed := names.parts.of(part)) != part:
                node.enters = node.span.kind is INTERNAL and is_entry(node)
                node.part = renamed
            if LOOP_BUSY in node.span.attributes:
                node.queue = names.parts.of(queue_of(node))
    lend_answers(tree)
    return tree


def budget_of_any(tree: Tree, *, with_paths: bool = False) -> Budget | None:
    """Makes the budget of a tree that `tree_of` built; None if the trace has no span, or if its root has no times.

    Its journey is the root's operation: in traces of the shop the journey, in others the service and the span's name.
    """
    budget = budget_of_tree(tree, with_calls=False, with_paths=with_paths)
    if budget is None or tree.root is None:
        return budget
    root = tree.root.span
    if tree.is_of_load:
        budget = _without_pauses(budget)
        journey = str(root.attributes[LOAD_JOURNEY])
    else:
        journey = budget.journey if SHOP_JOURNEY in root.attributes else f"{root.service}: {root.name}"
    return replace(
        budget,
        journey=intern(journey),
        channel=intern(budget.channel or str(root.attributes.get(LOAD_CHANNEL, ""))),
        edge_requests=(),
        after_ns=after_root_ns(tree),
    )


def _without_pauses(budget: Budget) -> Budget:
    """Removes the pauses between steps from total, parts and paths; the customer did not wait for the service then."""
    parts = {part: ns for part, ns in budget.parts.items() if part != THINK_SPAN}
    crossings = {part: count for part, count in budget.crossings.items() if part != THINK_SPAN}
    paths = {path: ns for path, ns in budget.paths.items() if path.rpartition(SEPARATOR)[2] != THINK_SPAN}
    total_ns = budget.total_ns - budget.parts.get(THINK_SPAN, 0)
    return replace(budget, parts=parts, crossings=crossings, paths=paths, total_ns=total_ns)


def _part(node: Node) -> str:
    span = node.span
    if node.callee is not None:
        return f"wire:{span.service}→{node.callee}"
    if span.kind is not SERVER and (store := store_part(span)):
        return store
    return f"{'messaging' if span.kind is PRODUCER else 'work'}:{span.service}"
