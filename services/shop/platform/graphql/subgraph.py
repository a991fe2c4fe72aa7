"""A service as a subgraph of Apollo Federation: its GraphQL schema for clients, which a router joins with others.

Every request counts as a call from outside, even through a proxy. The table of calls says which callers a call admits,
and the schema leaves out the calls that only services may make. The same rules apply to `_entities`, the field by which
a router reads entities by their keys.

A value such as `product_id` also becomes a field `product`, which a router follows to the subgraph of the entity. That
subgraph reads all entities of a request in one call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from inspect import Parameter
from typing import Annotated, NamedTuple, TypeVar, Union, cast

import strawberry
from strawberry.dataloader import DataLoader
from strawberry.federation import Schema as FederationSchema
from strawberry.federation.schema import FederationAny
from strawberry.federation.schema_directives import Key
from strawberry.federation.types import FieldSet
from strawberry.tools import create_type
from strawberry.types.field import StrawberryField

from shop.contract.calls import PAYMENT, Access, Call, Service, call_of
from shop.contract.graphql import ROWS_PER_PAGE, operation_of
from shop.contract.ports import Catalogue, Orders, PaymentClient, UserClient
from shop.contract.signatures import Kind, methods_of
from shop.errors import InvalidArgument
from shop.money import Money
from shop.platform.access.owners import USER_ID
from shop.platform.access.rules import Authenticator, current_caller
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.scalars import Long, parse_long
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import INFO, TARIFF, ClientRequest, ValueTypes, field_of, make_field
from shop.platform.incoming import Around, Incoming
from shop.platform.validation import MAX_IDS
from shop.values.order import Order
from shop.values.payment import Payment
from shop.values.product import Product
from shop.values.user import User

FEDERATION = "2.8"
"""The version of the specification that the subgraphs implement."""
KEY = "id"

P = TypeVar("P")


class Entity(NamedTuple):
    """A type that subgraphs refer to by its id.

    Attributes:
        one: The call that reads one entity; the call's row says who may see it.
        many: Name of the call that reads several entities, in the order of their ids.
        owner: The value's attribute with the id of its owner; empty if everybody may see it.
    """

    value: type
    one: Call[..., object]
    many: str
    owner: str = ""


ENTITIES: Mapping[str, Entity] = {
    "Product": Entity(Product, call_of(Catalogue.get_product), Catalogue.batch_get_products.__name__),
    "User": Entity(User, call_of(UserClient.get_user), UserClient.batch_get_users.__name__, KEY),
    "Order": Entity(Order, call_of(Orders.get_order), Orders.batch_get_orders.__name__, USER_ID),
}
_REFERENCES = {f"{name.lower()}_{KEY}": name for name in ENTITIES}
_ROOT = Parameter("root", Parameter.POSITIONAL_OR_KEYWORD, annotation=strawberry.Parent[object])
_OF_ORDERS = call_of(PaymentClient.batch_get_payments_by_order)


class SubgraphContext(ClientRequest[P]):
    """One request to a subgraph."""

    __slots__ = ("_loaders",)

    def __init__(
        self, service: P, authenticator: Authenticator, headers: Mapping[bytes, bytes], around: Mapping[str, Around]
    ) -> None:
        super().__init__(service, authenticator, headers, around)
        self._loaders: dict[str, DataLoader[int, object]] = {}

    def load(self, name: str, read: Callable[[list[int]], Awaitable[list[object]]], number: int) -> Awaitable[object]:
        """Returns an entity by its id, read together with the request's other entities of the same name."""
        if name not in self._loaders:
            self._loaders[name] = DataLoader(read, max_batch_size=MAX_IDS)
        return self._loaders[name].load(number)


SubgraphInfo = strawberry.Info[SubgraphContext[object], None]


class Subgraph(Schema, FederationSchema):
    """The schema of a subgraph."""


def subgraph_app(
    service: Service[P], use_cases: P, incoming: Incoming, around: Mapping[str, Around] | None = None
) -> Endpoint:
    """Returns a service's application for routers; the arguments are those of `Offer`."""

    def context(headers: dict[bytes, bytes]) -> SubgraphContext[P]:
        return SubgraphContext(use_cases, incoming.authenticator, headers, around or {})

    return Endpoint(subgraph_of(service), context, incoming, TARIFF.measure)


@cache
def subgraph_of(service: Service[object]) -> Subgraph:
    types = _SubgraphTypes(service)
    roots: dict[str, list[StrawberryField]] = {"query": [], "mutation": []}
    for method in methods_of(service):
        if method.contract.access is not Access.INTERNAL and not method.watches:
            roots[operation_of(method)].append(field_of(method, types))
    roots["query"].append(types.entities())
    mutation = create_type("Mutation", roots["mutation"]) if roots["mutation"] else None
    return Subgraph(create_type("Query", roots["query"]), mutation, federation_version=FEDERATION)


class _SubgraphTypes(ValueTypes):
    def __init__(self, service: Service[object]) -> None:
        super().__init__()
        self._own = {name for name, entity in ENTITIES.items() if entity.one.service == service.name}
        self._is_payment = service.name == PAYMENT.name
        self._stubs: dict[str, type] = {}

    def entities(self) -> StrawberryField:
        """Returns the field by which a router reads entities by their keys."""
        extended = [name for name in ENTITIES if self._extends(name)]
        kinds = [*(self.output(ENTITIES[name].value) for name in self._own), *map(self._stub, extended)]
        self._resolved = {*self._own, *extended}
        union = Annotated[Union[*kinds], strawberry.union("_Entity")]  # type: ignore[valid-type]

        async def resolve(info: SubgraphInfo, representations: list[FederationAny]) -> list[object]:
            if len(representations) > ROWS_PER_PAGE:
                message = f"representations has {len(representations)} entries; it may have at most {ROWS_PER_PAGE}"
                raise InvalidArgument(message, field="representations")
            return [self._resolve(info, each) for each in representations]

        given = Parameter("representations", Parameter.KEYWORD_ONLY, annotation=list[FederationAny])
        field = make_field(resolve, [INFO, given], list[union | None], name="_entities")
        field.python_name = "_entities"
        return field

    def _resolve(self, info: SubgraphInfo, representation: object) -> object:
        name, number = self._key_of(representation)
        if name in self._own:
            return _load(info.context, ENTITIES[name], number)
        return self._stub(name)(id=number)

    def _key_of(self, representation: object) -> tuple[str, int]:
        given = representation if isinstance(representation, dict) else {}
        name, number = given.get("__typename"), given.get(KEY)
        is_key = isinstance(number, int) and not isinstance(number, bool)
        if not isinstance(name, str) or name not in self._resolved or not is_key:
            valid = " or ".join(f'{{"__typename": "{kind}", "{KEY}": 17}}' for kind in sorted(self._resolved))
            raise InvalidArgument(f"a representation must be of the form {valid}", field="representations")
        return name, parse_long(number)

    def define(self, made: type, description: str) -> Kind:
        name, hints = made.__name__, made.__annotations__
        for field, entity in _REFERENCES.items():
            # An order leads to its payment, so a payment has only its order's id: types must not form a cycle.
            if field not in hints or self._extends(entity):
                continue
            target = self.output(ENTITIES[entity].value) if entity in self._own else self._stub(entity)
            setattr(made, entity.lower(), _reference(field, entity, target, is_own=entity in self._own))
        if name in self._own:
            made.is_type_of = classmethod(partial(_is_value, ENTITIES[name].value))  # type: ignore[attr-defined]
            return strawberry.federation.type(made, keys=[KEY], description=description)
        return strawberry.federation.type(made, shareable=name == Money.__name__, description=description)

    def _extends(self, name: str) -> bool:
        return self._is_payment and name == "Order"

    def _stub(self, name: str) -> type:
        """Returns this subgraph's stub of another subgraph's entity: the id and, for an order, the payment."""
        if name not in self._stubs:
            made = type(name, (), {"__annotations__": {KEY: Long}})
            if self._extends(name):
                made.payment = _payment(self.output(Payment))  # type: ignore[attr-defined]
            key = Key(fields=FieldSet(KEY), resolvable=self._extends(name))
            self._stubs[name] = strawberry.federation.type(made, keys=[key])
        return self._stubs[name]


def _is_value(value: type, _cls: type, thing: object, _info: object) -> bool:
    return isinstance(thing, value)


def _reference(field: str, name: str, target: Kind, *, is_own: bool) -> StrawberryField:
    """Returns the field that leads from an id to its entity; the field is null if the id is 0: a deleted account."""

    def resolve(root: object, info: SubgraphInfo) -> object:
        number = cast(int, getattr(root, field))
        if not number:
            return None
        return _load(info.context, ENTITIES[name], number) if is_own else target(id=number)

    return make_field(resolve, [_ROOT, INFO], target | None, description="Null if it is gone, or another customer's.")


def _payment(target: Kind) -> StrawberryField:
    def resolve(root: object, info: SubgraphInfo) -> object:
        async def read(orders: list[int]) -> list[object]:
            with info.context.admit(_OF_ORDERS):
                method = getattr(info.context.service, _OF_ORDERS.port)
                return _in_order(orders, {payment.order_id: payment for payment in await method(orders)})

        return info.context.load(_OF_ORDERS.name, read, cast(int, getattr(root, KEY)))

    return make_field(resolve, [_ROOT, INFO], target | None, description="Null until the order is paid.")


def _load(context: SubgraphContext[object], entity: Entity, number: int) -> Awaitable[object]:
    """Returns an entity by its id; None if it does not exist, or the caller may not see it."""

    async def read(numbers: list[int]) -> list[object]:
        with context.admit(entity.one):
            things = await getattr(context.service, entity.many)(numbers)
            if entity.owner:
                caller = current_caller()
                things = [thing for thing in things if caller.may_act_for(getattr(thing, entity.owner))]
        return _in_order(numbers, {thing.id: thing for thing in things})

    return context.load(entity.many, read, number)


def _in_order(numbers: list[int], entities: Mapping[int, object]) -> list[object]:
    return [entities.get(number) for number in numbers]
