"""Call paths: every nanosecond is below the calls that it belongs to."""

from __future__ import annotations

from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.call_paths import MAX_DEPTH, extend, frames_of
from hops.budget.parts import budget_of_tree
from hops.traces.span import Kind, Span
from hops.traces.tree import grow

# The call from order to product ends when order ends, so that neither order nor its CLIENT span has time after it.
CALLED_BY_TWO = """
client checkout                   INTERNAL 0..100
|- client start_lag               INTERNAL 0..5
`- client POST                    CLIENT   5..95
   `- graphql-gateway POST        SERVER   10..90
      |- graphql-gateway Get      CLIENT   15..40
      |  `- product Get           SERVER   20..35
      `- graphql-gateway Checkout CLIENT   40..90
         `- order Checkout        SERVER   45..90
            |- order step         INTERNAL 45..60
            `- order Reserve      CLIENT   60..90
               `- product Reserve SERVER   65..90
"""
GATEWAY = "client;wire:client→graphql-gateway;work:graphql-gateway"
PATHS = {
    "client": 5, "client;start_lag": 5, "client;wire:client→graphql-gateway": 10, GATEWAY: 5,
    f"{GATEWAY};wire:graphql-gateway→product": 10, f"{GATEWAY};wire:graphql-gateway→product;work:product": 15,
    f"{GATEWAY};wire:graphql-gateway→order": 5, f"{GATEWAY};wire:graphql-gateway→order;work:order": 15,
    f"{GATEWAY};wire:graphql-gateway→order;work:order;wire:order→product": 5,
    f"{GATEWAY};wire:graphql-gateway→order;work:order;wire:order→product;work:product": 25,
}  # fmt: skip


def test_a_component_has_a_frame_below_each_of_its_callers(draw):
    budget = budget_of_tree(grow(draw(CALLED_BY_TWO)), with_paths=True)
    assert budget.paths == PATHS


def test_they_are_made_on_request_alone_and_change_nothing_else(draw):
    spans = draw(CALLED_BY_TWO)
    plain, full = budget_of_tree(grow(spans)), budget_of_tree(grow(spans), with_paths=True)
    assert (plain.paths, plain.parts, plain.on_path) == ({}, full.parts, full.on_path)


def test_a_wait_for_a_busy_loop_is_below_its_call(draw):
    spans = draw("""
graphql-gateway GetOrder        CLIENT   0..100 shop.loop.busy_ms=0.000008 shop.loop.rested_ms=0.000001
`- order GetOrder               SERVER   60..85 shop.loop.busy_ms=0.000040 shop.loop.rested_ms=0.000005
""")
    budget = budget_of_tree(grow(spans), with_paths=True)
    wire = "wire:graphql-gateway→order"
    below = {"queue:order": 40, "queue:graphql-gateway": 8, "work:order": 25}
    assert budget.paths == {wire: 27, **{f"{wire};{part}": ns for part, ns in below.items()}}


def test_pauses_between_steps_are_no_wait(draw):
    spans = draw("""
client browse                   INTERNAL 0..100 load.journey=browse
|- client GET                   CLIENT   0..40
|  `- library GET               SERVER   5..35
`- client think                 INTERNAL 40..90
""")
    budget = budget_of_any(tree_of(spans), with_paths=True)
    assert budget.paths == {
        "client": 10,
        "client;wire:client→library": 10,
        "client;wire:client→library;work:library": 30,
    }
    assert sum(budget.paths.values()) == budget.total_ns


def test_an_endless_recursion_has_a_last_frame():
    depth = 5 * MAX_DEPTH
    spans = [
        Span("1" * 32, f"{at + 1:016x}", f"{at:016x}" if at else "", "x", Kind.SERVER, "ab"[at % 2], at, 1000 - at)
        for at in range(depth)
    ]
    budget = budget_of_tree(grow(spans), with_paths=True)
    assert max(path.count(";") for path in budget.paths) == MAX_DEPTH - 1
    assert sum(budget.paths.values()) == 1000
    deepest = [ns for path, ns in budget.paths.items() if path.count(";") == MAX_DEPTH - 1]
    assert sum(deepest) == 1000 - 2 * (MAX_DEPTH - 1)


def test_a_name_with_a_separator_is_one_frame():
    assert list(frames_of(extend("client", "work:a;b"))) == ["client", "client;work:a,b"]
