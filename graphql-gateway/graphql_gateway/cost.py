"""The costs of the fields in the gateway's schema."""

from __future__ import annotations

from shop.platform.graphql.cost import COST_OF_CALL, Tariff
from shop.values.notification import KEPT
from shop.values.order import MAX_LINES
from shop.values.product import MAX_RECORDS, MAX_SECTIONS

COST_OF_REFUSAL = 16
"""Cost of a field that only some callers may see: a refusal takes as long as resolving several objects."""
TARIFF = Tariff(
    bounds=("first",),
    pages="Connection",
    items={
        ("Document", "sections"): MAX_SECTIONS,
        ("DocumentSection", "records"): MAX_RECORDS,
        ("Order", "lines"): MAX_LINES,
        ("Query", "notifications"): KEPT,
    },
    dear={
        # One call per parent.
        ("User", "orders"): COST_OF_CALL,
        # A caller who may not see them gets an error for each.
        ("User", "address"): COST_OF_REFUSAL,
        ("User", "email"): COST_OF_REFUSAL,
        # Each line of `orderLines` searches the whole order.
        ("OrderLine", "lineNumber"): 4,
    },
)
