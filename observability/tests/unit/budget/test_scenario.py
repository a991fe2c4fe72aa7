"""What users may write in a scenario, and the messages about mistakes."""

from __future__ import annotations

from collections import Counter

import pytest

from hops.budget.retiming import Calls, Change
from hops.budget.scenario import Known, read_scenario, scenario_of
from hops.errors import InputError
from hops.traces.tree import grow
from synthetic.traces import shop_trace

KNOWN = Known()
KNOWN.add(grow(shop_trace(1, 60)))
CALLS = "graphql-gateway: rpc"


def scenario(changes=(), parallel=(), removed=()):
    return scenario_of(KNOWN, changes, parallel, removed)


@pytest.mark.parametrize(
    ("text", "part", "change"),
    [
        ("work:payment -50%", "work:payment", Change(0.5)),
        ("work:payment −100 %", "work:payment", Change(0.0)),
        ("wire:graphql-gateway->user +2ms", "wire:graphql-gateway→user", Change(added_ns=2_000_000)),
        ("wire:graphql-gateway → user -0.5 us", "wire:graphql-gateway→user", Change(added_ns=-500)),
        ("db:product +20%", "db:product", Change(1.2)),
    ],
)
def test_a_change_is_a_part_and_an_amount(text, part, change):
    assert scenario([text]).changes == {part: change}


def test_calls_are_named_by_their_component_or_by_their_part():
    assert scenario(parallel=[CALLS + ", rpc"]).parallel == (Calls("graphql-gateway", ("rpc", "rpc")),)
    removing = scenario(removed=["db:product", CALLS])
    assert removing.removed_parts == {"db:product"}
    assert removing.removed_calls == (Calls("graphql-gateway", ("rpc",)),)


def test_names_of_components_may_have_colons_and_blanks():
    """OpenTelemetry calls a component without a name `unknown_service:node`."""
    known = Known(calls=Counter({("unknown_service:node", "a"): 1, ("my shop", "SELECT x::int"): 1}))
    made = scenario_of(known, [], [], ["unknown_service:node: a", "my shop: SELECT x::int"])
    assert made.removed_calls == (Calls("unknown_service:node", ("a",)), Calls("my shop", ("SELECT x::int",)))


def test_names_of_calls_may_have_commas():
    """Some client libraries name a span by its statement."""
    known = Known(calls=Counter({("order", "SELECT a, b"): 1, ("order", "shop.User/Get"): 1}))
    made = scenario_of(known, [], ["order: SELECT a, b, Get"], ["order: Get, SELECT a, b"])
    assert made.parallel == (Calls("order", ("SELECT a, b", "Get")),)
    assert made.removed_calls == (Calls("order", ("Get", "SELECT a, b")),)
    with pytest.raises(InputError, match=r"makes no call 'b' in any trace; choose from SELECT a, b, shop"):
        scenario_of(known, [], [], ["order: Get, b"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"changes": ["work:bank -5%"]}, r"'work:bank' is in no trace; choose from .*work:payment"),
        ({"changes": ["queue:order -5%"]}, "follows from the load and is not modelled"),
        ({"changes": ["work:payment 5%"]}, "write PART ±AMOUNT"),
        ({"changes": ["work:payment +5min"]}, "write PART ±AMOUNT"),
        ({"changes": ["work:payment -101%"]}, "at most all of its time"),
        ({"changes": ["work:payment -1%", "work:payment +2ms"]}, "changed twice"),
        ({"parallel": ["ReserveStock, AuthorizePayment"]}, "write COMPONENT: CALL, CALL"),
        ({"parallel": ["bank: a, b"]}, r"'bank' makes no calls .*; choose from .*graphql-gateway"),
        ({"parallel": ["graphql-gateway: rpc, pay"]}, r"no call 'pay' in any trace; choose from rpc"),
        ({"parallel": [CALLS]}, "at least two calls"),
        ({"removed": ["db:bank"]}, "'db:bank' is in no trace"),
        ({"parallel": [CALLS + ", rpc" * 60]}, "no span of graphql-gateway makes 61 calls 'rpc'; the maximum is "),
        ({"removed": ["client"]}, "client occurs only in root spans, .*; choose from .*work:payment"),
        ({}, "the scenario changes nothing"),
    ],
)
def test_unknown_names_are_refused_with_the_valid_ones(given, message):
    with pytest.raises(InputError, match=message):
        scenario(**given)


def test_a_file_says_the_same_as_options(tmp_path):
    file = tmp_path / "cache.yaml"
    file.write_text("change: {work:payment: -50%, db:order: +2 ms}\nparallel: {order: [a, b]}\nremove: [db:product]\n")
    changes, parallel, removed = read_scenario(file, ["work:user +1ms"], [], [])
    assert changes == ["work:user +1ms", "work:payment -50%", "db:order +2 ms"]
    assert (parallel, removed) == (["order: a, b"], ["db:product"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("change: [", ":1: not valid YAML: "),
        ("- a", ":1: must be a mapping of sections, which are change, parallel, remove, not a list"),
        (
            "remove: []\nchanges: {}",
            r":2: changes: is not a section; did you mean change\? valid: change, parallel, remove",
        ),
        ("parallel: {order: a}", r":1: parallel\.order: must be a list, such as \[a, b\], not 'a'"),
        ("change: {a: -50%, a: 1%}", ":1: not valid YAML: the key 'a' appears twice"),
        ("change:\n  a: 5", r":2: change\.a: must be an amount such as -50% or \+2ms, not 5"),
        ("remove:\n  - a\n  - 5", r":3: remove\[1\]: must be text, not 5: put it in quotes"),
        ("remove: db:product", r":1: remove: must be a list, such as \[a, b\], not 'db:product'"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, text, message):
    file = tmp_path / "cache.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_scenario(file, [], [], [])
