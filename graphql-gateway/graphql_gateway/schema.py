"""The whole schema, put together from the entities' fields."""

from __future__ import annotations

import strawberry

from graphql_gateway.notification import NotificationMutation, NotificationQuery, Subscription
from graphql_gateway.objects.entities import GatewayInfo, Node, Order, Payment, Product, User, existing, reviews_asked
from graphql_gateway.objects.global_id import number_of, split_global_id
from graphql_gateway.order import OrderMutation, OrderQuery, PaymentQuery, own_order, own_payment
from graphql_gateway.product import ProductMutation, ProductQuery
from graphql_gateway.user import UserMutation, UserQuery
from shop.contract.ports import UserClient
from shop.errors import InvalidArgument
from shop.platform.graphql.field import field
from shop.platform.graphql.schema import Schema

PUBLIC = frozenset(
    {
        *("Query.product", "Query.products", "Query.document"),
        *("Product", "ProductConnection", "ProductEdge", "PageInfo", "Review", "Money"),
        *("Document", "DocumentSection", "DocumentRecord"),
    }
)
"""Everything public: types with all their fields, and single fields. Everything else is personal."""
NODES = ("Order", "Payment", "Product", "User")


@strawberry.type(description="Everything that can be read.")
class Query(ProductQuery, UserQuery, OrderQuery, PaymentQuery):
    @field(description=f"Anything by its global identifier: {', '.join(NODES)}.")
    async def node(self, info: GatewayInfo, id: strawberry.ID) -> Node | None:  # noqa: A002
        kind, _ = split_global_id(id)
        if kind not in NODES:
            raise InvalidArgument(f"id identifies a {kind}; valid: ids of {', '.join(NODES)}", field="id")
        number = number_of(id, kind)
        match kind:
            case "Order":
                return await own_order(info, number)
            case "Payment":
                return await own_payment(info, number)
            case "Product":
                return await existing(info.context.reads.product(number, reviews_asked(info)), "product", number)
            case _:
                info.context.admit(UserClient.get_user, number)
                return await existing(info.context.reads.user(number), "user", number)


@strawberry.type(description="Everything that can be changed.")
class Mutation(ProductMutation, UserMutation, OrderMutation):
    """The mutations of all entities."""


@strawberry.type(name="Query", description="Everything that can be read.")
class QueryWithUpdates(Query, NotificationQuery):
    """`Query` with customers' notifications."""


@strawberry.type(name="Mutation", description="Everything that can be changed.")
class MutationWithUpdates(Mutation, NotificationMutation):
    """`Mutation` with customers' notifications."""


def build_schema(*, updates: bool = True) -> Schema:
    """Returns the schema; building it takes milliseconds, so build it once per process."""
    types = (Order, Payment, Product, User)
    if not updates:
        return Schema(Query, Mutation, types=types)
    return Schema(QueryWithUpdates, MutationWithUpdates, Subscription, types=types)
