"""What the fields of the gateway's schema cost."""

from __future__ import annotations

from graphql import DocumentNode, GraphQLSchema

from shop.platform.graphql.cost import COST_OF_CALL, CostModel, Tariff
from shop.values.notification import KEPT
from shop.values.order import MAX_LINES
from shop.values.product import MAX_RECORDS, MAX_SECTIONS

COST_OF_REFUSAL = 16
"""What a field costs that not everybody may see: an error takes as long as the fields of several objects."""
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
        # A call for each of its parents.
        ("User", "orders"): COST_OF_CALL,
        # A caller who may not see them gets an error for each.
        ("User", "address"): COST_OF_REFUSAL,
        ("User", "email"): COST_OF_REFUSAL,
        # A search through the whole order for each line of `orderLines`.
        ("OrderLine", "lineNumber"): 4,
    },
)


def measure(schema: GraphQLSchema, document: DocumentNode) -> CostModel:
    """Returns the cost of a validated document."""
    return CostModel(schema, document, TARIFF)
