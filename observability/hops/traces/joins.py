"""Answers that hang next to their call, not below it, as GraphQL gateways record them.

Such a gateway passes on the context of a span above the CLIENT span. The callee's SERVER span then hangs below that
span, and only its times connect it with the call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable

from msgspec.structs import replace

from hops.traces.critical_path import AHEAD_PERCENT
from hops.traces.peers import Services, peer_of
from hops.traces.proxies import reported_name
from hops.traces.span import CLIENT, CONSUMER, SERVER, follows
from hops.traces.tree import Node, Tree

MAX_LEVELS = 6
"""Maximum number of levels above a call at which its answer may hang."""
MAX_CANDIDATES = 16
"""Maximum number of calls considered for each answer: the last ones that began before it."""


def join_answers(tree: Tree) -> None:
    """Hangs SERVER spans of other components below the calls that they answer, if their times leave no doubt.

    Candidates are calls without an answer, and SERVER spans right below one of the few spans above the call in its
    component. The nearest such span comes first.
    """
    waiting = [(node, node) for node in tree.open_calls if node.span.kind is CLIENT]
    services = None
    for _ in range(MAX_LEVELS if waiting else 0):
        by_parent: dict[Node, list[Node]] = defaultdict(list)
        further = []
        for call, below in waiting:
            above = tree.by_id.get(below.span.parent_id)
            if above is None or above is call or above.span.service != call.span.service:
                continue
            by_parent[above].append(call)
            if above.span.kind is not SERVER and above.span.kind is not CONSUMER:
                further.append((call, above))
        answered: set[Node] = set()
        for above, calls in by_parent.items():
            answers = [
                child
                for child in above.children
                if child.span.kind is SERVER and child.span.service != above.span.service and not follows(child.span)
            ]
            if answers:
                services = services or Services(reported_name(node.span.service) for node in tree.nodes)
                answered |= _join(above, answers, calls, services, tree)
        waiting = [one for one in further if one[0] not in answered]
        if not waiting:
            return


def _join(above: Node, answers: list[Node], calls: list[Node], services: Services, tree: Tree) -> set[Node]:
    pairs = pair(answers, calls, services)
    if pairs:
        above.children = [child for child in above.children if child not in pairs]
        for answer, call in pairs.items():
            answer.span = replace(answer.span, parent_id=call.span.span_id)
            call.children = [*call.children, answer]
        tree.quality.joined += len(pairs)
    return set(pairs.values())


def pair(answers: Iterable[Node], calls: Iterable[Node], services: Services) -> dict[Node, Node]:
    """Finds the call to which each answer belongs, by their times.

    An answer fits a call if it began and ended during the call. If it fits no call, up to `AHEAD_PERCENT` of it may be
    after the call, as when a callee closes its span late. First come answers that fit only one call. Then the longest
    answer takes the innermost of the calls that it fits. Then answers of one component are taken in the order of their
    starts. All other answers stay where they are.

    Args:
        services: Components of the trace; only the called component can answer a call to one of these.
    """
    ordered = sorted(calls, key=lambda one: (one.start_ns, -one.end_ns, one.span.span_id))
    starts = [one.start_ns for one in ordered]
    callees = {call: services.named_by(peer_of(call.span)) for call in ordered}
    fitting: dict[Node, list[Node]] = {}
    of_call: dict[Node, list[Node]] = defaultdict(list)
    for answer in sorted(answers, key=lambda one: (one.start_ns - one.end_ns, one.start_ns, one.span.span_id)):
        last = bisect_right(starts, answer.start_ns)
        callee = reported_name(answer.span.service)
        fits = [
            call
            for call in ordered[max(0, last - MAX_CANDIDATES) : last]
            if _fits(answer, call) and callees[call] in ("", callee)
        ]
        fits = [call for call in fits if callees[call]] or fits
        fits = [call for call in fits if answer.end_ns <= call.end_ns] or fits
        fitting[answer] = fits
        for call in fits:
            of_call[call].append(answer)
    pairs: dict[Node, Node] = {}
    taken: dict[Node, list[Node]] = {}
    single = deque(answer for answer, fits in fitting.items() if len(fits) == 1)

    def take(answer: Node, call: Node) -> None:
        pairs[answer] = call
        taken[call] = [answer]
        for other in of_call[call]:
            if other not in pairs and sum(one not in taken for one in fitting[other]) == 1:
                single.append(other)

    undecided = deque(answer for answer, fits in fitting.items() if len(fits) > 1)
    doubtful = []
    while single or undecided:
        answer = single.popleft() if single else undecided.popleft()
        if answer in pairs:
            continue
        free = [call for call in fitting[answer] if call not in taken]
        inner = [call for call in free if all(_lies_within(call, other) for other in free)]
        if len(free) == 1 or len(inner) == 1:
            take(answer, (inner or free)[0])
        elif free:
            doubtful.append(answer)
        elif len(fitting[answer]) == 1 and _follows(answer, taken[fitting[answer][0]]):
            pairs[answer] = fitting[answer][0]
            taken[fitting[answer][0]].append(answer)
    # Which of these answers belongs to which call makes no difference to any part.
    doubtful = [answer for answer in doubtful if answer not in pairs]
    open_calls = {call for answer in doubtful for call in fitting[answer] if call not in taken}
    alike = len({(call.span.name, peer_of(call.span)) for call in open_calls}) == 1
    if len({answer.span.service for answer in doubtful}) == 1 and (alike or len(open_calls) <= len(doubtful)):
        for answer in sorted(doubtful, key=lambda one: (one.start_ns, one.span.span_id)):
            if answer not in pairs and (free := [call for call in fitting[answer] if call not in taken]):
                take(answer, free[0])
    return pairs


def _follows(answer: Node, others: list[Node]) -> bool:
    """Whether an answer belongs to a retry of the same call: by the same component, without overlapping others."""
    return all(
        other.span.service == answer.span.service
        and (other.end_ns <= answer.start_ns or answer.end_ns <= other.start_ns)
        for other in others
    )


def _fits(answer: Node, call: Node) -> bool:
    if not call.start_ns <= answer.start_ns < call.end_ns:
        return False
    return (answer.end_ns - call.end_ns) * 100 <= AHEAD_PERCENT * (answer.end_ns - answer.start_ns)


def _lies_within(call: Node, other: Node) -> bool:
    return other.start_ns <= call.start_ns and call.end_ns <= other.end_ns
