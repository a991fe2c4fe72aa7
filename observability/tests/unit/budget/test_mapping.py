"""A file of names: what it renames, and what it may contain."""

from __future__ import annotations

import pytest

from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.mapping import read_names
from hops.errors import InputError

DRAWING = """
shop-v get       SERVER 0..100
`- shop-v GET     CLIENT 10..90
   `- stock-blue get SERVER 20..80
      |- stock-blue q   CLIENT 30..50 db.system=mysql
      `- stock-blue pay CLIENT 60..70 server.address=a.stripe.com
"""
NAMES = """
services:
  "*-v": shop
  "stock-*": stock
operations:
  get: GET /{id}
parts:
  "external:*→*.stripe.com": external:stripe
  "db:stock": db:shared
"""


def test_services_operations_and_parts_get_other_names(draw, tmp_path):
    (tmp_path / "names.yaml").write_text(NAMES)
    names = read_names(tmp_path / "names.yaml")
    budget = budget_of_any(tree_of(draw(DRAWING), names))
    assert budget.journey == "shop: GET /{id}"
    assert dict(budget.parts) == {
        "work:shop": 20, "wire:shop→stock": 20, "work:stock": 30, "db:shared": 20, "external:stripe": 10,
    }  # fmt: skip
    assert names.unused == []


def test_patterns_that_match_nothing_are_reported(draw, tmp_path):
    (tmp_path / "names.yaml").write_text('services: {"cart": basket, "shop*": shop}')
    names = read_names(tmp_path / "names.yaml")
    tree_of(draw(DRAWING), names)
    assert names.unused == ["services: cart"]


SHOP = """
client checkout           INTERNAL 0..100 shop.journey=checkout
|- client start_lag         INTERNAL 0..5
`- client POST              CLIENT   5..95
   |- client waiting          INTERNAL 5..10
   `- order Checkout          SERVER   20..90 shop.loop.busy_ms=0.000006 shop.loop.rested_ms=0.000001
      `- order pool.acquire     INTERNAL 30..40
"""


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("db:mysql", "db:shared"),
        ("wire:client→order", "wire:way"),
        ("queue:*", "queue:loops"),
        ("pool:*", "db:pool"),
        ("client:waiting", "wire:waiting"),
    ],
)
def test_an_entry_for_a_part_changes_that_part_and_no_other(draw, tmp_path, pattern, name):
    (tmp_path / "names.yaml").write_text(f'parts: {{"{pattern}": "{name}"}}')
    names = read_names(tmp_path / "names.yaml")
    plain, mapped = (budget_of_any(tree_of(draw(SHOP), one)) for one in (None, names))
    assert {"pool:order", "client:waiting", "start_lag"} <= plain.crossings.keys()
    assert (plain.parts["queue:order"], plain.parts["wire:client→order"]) == (6, 9)
    old = pattern.replace("*", "order")
    for there, here in ((plain.parts, mapped.parts), (plain.crossings, mapped.crossings)):
        assert {name if part == old else part: value for part, value in there.items()} == here
    assert bool(names.unused) == (old not in plain.parts)


WRONG = {
    "no YAML": ("services: [", "names.yaml:1: not valid YAML: "),
    "a list": ("- a", ":1: must be a mapping of sections, which are services, operations, parts, not a list"),
    "another section": (
        "# Names\nservice: {a: b}",
        ":2: service: is not a section; did you mean services? valid: services, operations, parts",
    ),
    "no table": (
        "services: [a]",
        ':1: services: must be a mapping of patterns and names, such as "cart-*": cart, not a list',
    ),
    "a number": ("services:\n  a: 1", ":2: services.a: must be text, not 1: put it in quotes"),
    "nothing for a pattern": ("services: {a: }", ":1: services.a: must be text, not empty"),
    "a key that is no text": ("services: {5: x}", ":1: services.5: the key must be text, not 5: put it in"),
    "twice": ("services: {a: b, a: c}", ":1: not valid YAML: the key 'a' appears twice"),
    "no part": ("parts:\n  a: b", ":2: parts.a: 'b' is not a part; a part begins with work:, wire:, db:"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path, text, message):
    (tmp_path / "names.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        read_names(tmp_path / "names.yaml")
    assert message in str(error.value)
