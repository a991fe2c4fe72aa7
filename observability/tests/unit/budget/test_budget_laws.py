"""What must be true of the budget of any trace, however broken."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hops.budget.parts import budget_of_tree, bypasses_sidecars, maker_of, part_of
from hops.traces.critical_path import AHEAD_PERCENT, walk
from hops.traces.span import Kind, Span
from hops.traces.tree import grow

SERVICES = ("client", "edge", "graphql-gateway", "order", "order-outbound", "product-inbound")
NAMES = ("start_lag", "pool.acquire", "link_up", "link_down", "handshake", "waiting", "call")
ATTRIBUTES = ({}, {"db.system.name": "postgresql"}, {"response_flags": "URX,UF"}, {"canceled": "true"})


@st.composite
def traces(draw, longest=200, duplicates=False):
    """Random trees: overlapping, skewed, outliving and backwards spans, lost parents, cycles and several roots."""
    count = draw(st.integers(1, 40))
    spans = []
    for index in range(count):
        parent = draw(st.integers(0, count + 1)) if index else 0
        start = draw(st.integers(0, longest))
        span_id = draw(st.integers(2, count + 1)) if duplicates and index else index + 1
        spans.append(Span(
            trace_id="1" * 32, span_id=f"{span_id:016x}", parent_id=f"{parent:016x}" if parent else "",
            name=draw(st.sampled_from(NAMES)), kind=draw(st.sampled_from(list(Kind))),
            service=draw(st.sampled_from(SERVICES)), start_ns=start, end_ns=start + draw(st.integers(-5, longest)),
            attributes=draw(st.sampled_from(ATTRIBUTES)),
        ))  # fmt: skip
    return draw(st.permutations(spans))


@given(traces())
def test_parts_add_up_to_the_nanosecond_and_none_is_negative(spans):
    budget = budget_of_tree(grow(spans))
    assert sum(budget.parts.values()) == budget.total_ns
    assert all(ns > 0 for ns in budget.parts.values())


@given(traces())
def test_call_paths_add_up_to_the_parts(spans):
    budget = budget_of_tree(grow(spans), with_paths=True)
    sums = Counter()
    for path, ns in budget.paths.items():
        sums[path.rpartition(";")[2]] += ns
    assert sums == budget.parts


@given(traces())
def test_the_path_covers_the_root_exactly_once(spans):
    root = grow(spans).root
    moment = root.end_ns
    for node, start_ns, end_ns in walk(root):
        assert end_ns == moment
        assert node.start_ns <= start_ns < end_ns <= node.end_ns
        moment = start_ns
    assert moment == root.start_ns


@given(traces())
def test_each_span_on_the_path_counts_once_in_a_part_of_its_component(spans):
    tree = grow(spans)
    budget = budget_of_tree(tree)
    root = tree.root
    walked = {node for node, *_ in walk(root)}
    counted = sum(node is root or node.span.kind is Kind.INTERNAL or not node.unconnected for node in walked)
    assert sum(budget.on_path.values()) + sum(budget.inner_on_path.values()) == counted
    for node in tree.nodes:
        maker = maker_of(part_of(node))
        assert maker is None or maker[0] == node.span.service


@given(traces())
def test_children_end_up_inside_their_parents(spans):
    tree = grow(spans)
    parents = [tree.root, *tree.extra_roots]
    for parent in parents:
        for node in parent.children:
            assert parent.start_ns <= node.start_ns <= node.end_ns <= parent.end_ns
        parents += parent.children


@given(st.data())
def test_the_order_of_arrival_decides_nothing(data):
    # There are few different times, so many spans start or end at the same moment.
    spans = data.draw(traces(longest=4, duplicates=True))
    budget, again = (budget_of_tree(grow(data.draw(st.permutations(spans)))) for _ in range(2))
    assert budget == again
    assert list(budget.parts.items()) == list(again.parts.items())


@given(traces())
def test_the_path_is_that_of_the_definition(spans):
    root = grow(spans).root
    owners = {at: node for node, start_ns, end_ns in walk(root) for at in range(start_ns, end_ns)}
    assert owners == defined_path(root)


@given(st.data())
def test_in_a_mesh_each_leg_of_a_call_has_its_own_part(data):
    """Calls one after the other, some tried twice, some answered by a sidecar: the time of each leg is known."""
    journey = MeshJourney(data.draw)
    budget = budget_of_tree(grow(data.draw(st.permutations(journey.spans))))
    assert budget.parts == {part: ns for part, ns in journey.parts.items() if ns}
    assert budget.gap_ns == 0
    quality = budget.quality
    assert (quality.orphans, quality.missing_servers, quality.given_up, quality.outlived, quality.skewed) == (0,) * 5
    assert [part for part in budget.crossings if bypasses_sidecars(part)] == []
    tried = Counter(span.service for span in journey.spans if span.kind is Kind.SERVER)
    assert {part: count for part, count in budget.crossings.items() if part.startswith("proxy:")} == {
        f"proxy:{service}": count for service, count in tried.items() if service.endswith(("edge", "bound"))
    }


class MeshJourney:
    """A journey through edge and sidecars that records its own account: each leg notes its time when it is drawn."""

    def __init__(self, draw):
        self.spans, self.parts = [], Counter()
        self._draw, self._now = draw, 0
        with self._span("client", Kind.INTERNAL, "") as root:
            self._pass("client")
            for _ in range(draw(st.integers(1, 3))):
                self._request(root)
                self._pass("client")

    def _request(self, root):
        """Makes a request over an emulated network, which the edge's span overlaps: the span begins and ends while the
        link is busy."""
        with self._span("client", Kind.CLIENT, root) as request:
            self._pass("wire:client→edge")
            self._cross(request, "handshake", "handshake")
            self._cross(request, "waiting", "client:waiting")
            self._pass("wire:client→edge")
            up_ns = self._cross(request, "link_up", "network")
            with self._span("edge", Kind.SERVER, request) as entry:
                edge = len(self.spans) - 1
                self._pass("proxy:edge")
                self._call("edge", ["order", "user"], entry)
                self._pass("proxy:edge")
            down_ns = self._cross(request, "link_down", "network")
            self._pass("wire:client→edge")
        span = self.spans[edge]
        early, late = self._draw(st.integers(0, up_ns)), self._draw(st.integers(0, down_ns))
        self.spans[edge] = replace(span, start_ns=span.start_ns - early, end_ns=span.end_ns + late)

    def _cross(self, request, name, part):
        begins = self._now
        with self._span("client", Kind.INTERNAL, request, name):
            self._pass(part)
        return self._now - begins

    def _call(self, caller, callees, above):
        """Makes one call through the two sidecars, and then the callee's own calls."""
        callee, outbound = self._draw(st.sampled_from(callees)), f"{caller}-outbound"
        with self._span(caller, Kind.CLIENT, above) as request:
            self._pass(f"wire:{caller}→{outbound}")
            with self._span(outbound, Kind.SERVER, request) as way_out:
                self._pass(f"proxy:{outbound}")
                if self._draw(st.booleans()):
                    with self._span(outbound, Kind.CLIENT, way_out, response_flags="UF"):
                        self._pass(f"proxy:{outbound}")
                    self._pass(f"proxy:{outbound}")
                if self._draw(st.integers(0, 3)):
                    for _ in range(self._draw(st.integers(1, 2))):
                        self._forward(callee, outbound, way_out)
                        self._pass(f"proxy:{outbound}")
            self._pass(f"wire:{caller}→{outbound}")

    def _forward(self, callee, outbound, above):
        inbound = f"{callee}-inbound"
        with self._span(outbound, Kind.CLIENT, above) as over:
            self._pass(f"wire:{outbound}→{inbound}")
            with self._span(inbound, Kind.SERVER, over) as way_in:
                self._pass(f"proxy:{inbound}")
                if self._draw(st.integers(0, 3)):
                    with self._span(inbound, Kind.CLIENT, way_in) as handed:
                        self._pass(f"wire:{inbound}→{callee}")
                        with self._span(callee, Kind.SERVER, handed) as server:
                            self._pass(f"work:{callee}")
                            if callee == "order" and self._draw(st.booleans()):
                                self._call("order", ["product", "product-canary"], server)
                                self._pass("work:order")
                        self._pass(f"wire:{inbound}→{callee}")
                    self._pass(f"proxy:{inbound}")
            self._pass(f"wire:{outbound}→{inbound}")

    def _pass(self, part):
        ns = self._draw(st.integers(0, 9))
        self._now += ns
        self.parts[part] += ns

    @contextmanager
    def _span(self, service, kind, parent_id, name="x", **attributes):
        span_id, index, start_ns = f"{len(self.spans) + 1:016x}", len(self.spans), self._now
        self.spans.append(None)
        yield span_id
        self.spans[index] = Span("1" * 32, span_id, parent_id, name, kind, service, start_ns, self._now, attributes)


def defined_path(root):
    """Finds the critical path by its definition: each nanosecond's owner is found by examining all children again."""
    owners = {}

    def follow(node, moment, seen_until):
        """Assigns the time before `seen_until` to `node` and spans below it, along the path back from `moment`."""
        while True:
            finished = [child for child in node.children if child.began_ns < moment and counts(child, moment)]
            if not finished:
                break
            last = max(finished, key=lambda one: (one.ended_ns, -one.began_ns, -int(one.span.span_id, 16)))
            end_ns = min(last.ended_ns, moment)
            own(node, end_ns, min(moment, seen_until))
            follow(last, last.span.end_ns if last.is_try else end_ns, min(end_ns, seen_until))
            moment = last.began_ns
        own(node, node.began_ns, min(moment, seen_until))

    def own(node, start_ns, end_ns):
        owners.update((at, node) for at in range(start_ns, end_ns))

    def counts(child, moment):
        length, ahead = child.ended_ns - child.began_ns, child.ended_ns - moment
        return length > 0 and (ahead <= 0 or child.is_try or ahead / length <= AHEAD_PERCENT / 100)

    follow(root, root.end_ns, root.end_ns)
    return owners
