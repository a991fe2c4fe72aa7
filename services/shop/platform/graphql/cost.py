"""The cost of a document: how many fields its answer can have.

A field costs 1. A field of Query, Mutation or Subscription makes a call and costs more. The tariff may give other
fields a special cost.
A list multiplies the cost of what is selected from its items by the largest number of items that it can have. An
argument such as `first` gives that number; without one, the schema's tariff does. So
`{ products(first: 20) { edges { node { title } } } }` costs 50 + 20 * 3 = 110. Introspection is counted by the same
rule, with as many items as the schema has.

Such an argument may be a variable, so the cost depends on the document and on the values of those variables.
graphql-core coerces the values, as it does in execution, so that measuring and execution see the same number.

No answer has more fields than its document costs; `shop.platform.graphql.execution` stops an answer that exceeds this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    ListValueNode,
    OperationDefinitionNode,
    Undefined,
    ValueNode,
    VariableNode,
    VariableValues,
    get_argument_values,
    get_named_type,
    get_variable_values,
)

from shop.errors import ResourceExhausted
from shop.platform.graphql.error_format import RequestError
from shop.platform.graphql.execution import SelectionSum, returns_list
from shop.platform.graphql.limits import fragments_of, name_of, operations_of, selections_of

MAX_COST = 12_000
"""A field takes about 10 µs of CPU. The journey `order_history` reads 10 orders and costs 11,211, as each may have
100 lines. GraphiQL's query for the whole schema costs 8,319."""
MAX_COST_OF_PARTNERS = 16_000
"""The journey `bulk_lines` reads 1,000 order lines and costs 15,050."""
MAX_COST_OF_DOCUMENT = 53_000
"""For requests that read one technical document and nothing else: the journey `document` costs 52,572."""
COST_OF_CALL = 50
FIELDS_OF_TYPE = 2
"""The mean number of fields of a type; it has, on average, fewer than one of anything else that introspection lists."""
FIELDS_OF_LARGEST_TYPE = 11
MAX_WRAPS = 3
"""A type written `[X!]!` wraps X three times; GraphiQL asks for nine levels."""

_MAX_KNOWN = 64
_NAMING_A_TYPE = (
    ("Query", "__type"),
    ("__Schema", "queryType"),
    ("__Schema", "mutationType"),
    ("__Schema", "subscriptionType"),
)
Place = tuple[str, str]
"""A type and one of its fields."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """What the fields of a schema cost.

    Attributes:
        bounds: Arguments that say how many items a list has: a number, or a list with a value for each item.
        pages: Suffix of the names of page types. The argument of a field that returns a page bounds the page's lists.
        items: The largest size of a list without such an argument, or without a value for the argument.
        dear: Costs of the fields that have a special cost.
    """

    bounds: tuple[str, ...]
    pages: str
    items: Mapping[Place, int]
    dear: Mapping[Place, int] = field(default_factory=dict)

    def measure(self, schema: GraphQLSchema, document: DocumentNode) -> CostModel:
        return CostModel(schema, document, self)


def max_cost(operation: OperationDefinitionNode, *, is_partner: bool) -> int:
    if all(isinstance(one, FieldNode) and one.name.value == "document" for one in operation.selection_set.selections):
        return MAX_COST_OF_DOCUMENT
    return MAX_COST_OF_PARTNERS if is_partner else MAX_COST


class CostModel:
    """The cost of one validated document, computed as far as possible without the values of its variables."""

    __slots__ = ("_document", "_known", "_schema", "_tariff", "_variables")

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, tariff: Tariff) -> None:
        self._schema = schema
        self._tariff = tariff
        self._document = document
        self._known: dict[tuple[object, ...], int] = {}
        names = {
            name
            for selection in selections_of(document)
            if isinstance(selection, FieldNode)
            for argument in selection.arguments or ()
            if argument.name.value in tariff.bounds
            for name in _variables_in(argument.value)
        }
        self._variables = {
            name_of(operation): {
                variable.variable.name.value: variable
                for variable in operation.variable_definitions or ()
                if variable.variable.name.value in names
            }
            for operation in operations_of(document)
        }

    def of(self, operation: OperationDefinitionNode, values: Mapping[str, object]) -> int:
        """Returns an operation's cost; raises `RequestError` if one of the cost's variables is missing or wrong."""
        name = name_of(operation)
        variables = self._variables[name]
        key = (name, *[_size(values.get(variable, Undefined)) for variable in variables])
        try:
            cost = self._known.get(key)
        except TypeError:  # an object, which does not bound a list
            cost = None
        if cost is None:
            coerced = get_variable_values(self._schema, variables.values(), dict(values), hide_suggestions=True)
            if isinstance(coerced, list):
                raise RequestError(coerced)
            counter = _CostCounter(self._schema, self._document, coerced, self._tariff)
            cost = counter.inside(operation.selection_set, self._schema.get_root_type(operation.operation))
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = cost
        return cost

    def check(
        self, operation: OperationDefinitionNode, values: Mapping[str, object], is_partner: Callable[[], bool]
    ) -> int:
        """Returns an operation's cost; raises `ResourceExhausted` above the caller's limit, and the errors of `of`.

        `is_partner` returns whether the caller is a partner; it is called only where that matters.
        """
        cost = self.of(operation, values)
        limit = max_cost(operation, is_partner=cost > MAX_COST and is_partner())
        if cost > limit:
            bounds = ", ".join(f"`{name}`" for name in self._tariff.bounds)
            raise ResourceExhausted(
                f"the operation has a cost of {cost}; the limit is {limit}; ask for fewer items ({bounds}) or fields"
            )
        return cost


class _CostCounter(SelectionSum):
    def __init__(self, schema: GraphQLSchema, document: DocumentNode, values: VariableValues, tariff: Tariff) -> None:
        super().__init__(schema, fragments_of(document))
        self._tariff = tariff
        self._values = values
        self._wraps = 0
        self._roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
        self._introspected = {
            ("__Schema", "types"): len(schema.type_map),
            ("__Type", "fields"): FIELDS_OF_TYPE,
            # These fields select one type, which may be the largest.
            **dict.fromkeys(_NAMING_A_TYPE, FIELDS_OF_LARGEST_TYPE // FIELDS_OF_TYPE + 1),
        }

    def place(self) -> object:
        return self._wraps

    def field(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        name = node.name.value
        is_call = parent in self._roots and not name.startswith("__")
        own = self._tariff.dear.get((parent.name, name), COST_OF_CALL if is_call else 1)
        if node.selection_set is None:
            return own
        items, wraps = self._items(node, parent, definition), self._wraps
        self._wraps = min(wraps + 1, MAX_WRAPS) if name == "ofType" else 0
        inside = self.inside(node.selection_set, get_named_type(definition.type))
        self._wraps = wraps
        return own + items * inside

    def _items(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        place = (parent.name, node.name.value)
        bound = next((name for name in self._tariff.bounds if name in definition.args), None)
        if bound is None:
            if place == ("__Type", "ofType"):
                return int(self._wraps < MAX_WRAPS)
            if "__" in (parent.name[:2], node.name.value[:2]):
                return self._introspected.get(place, 1)
            # The page's argument has already multiplied its items.
            is_bounded = parent.name.endswith(self._tariff.pages) or not returns_list(definition)
            return 1 if is_bounded else self._tariff.items[place]
        only_bound = GraphQLField(definition.type, args={bound: definition.args[bound]})
        try:
            items = get_argument_values(only_bound, node, self._values)[bound]
        except GraphQLError:  # null, which execution refuses too, before it resolves the field
            return 1
        count = len(items) if isinstance(items, list) else items
        return max(count or self._tariff.items.get(place, 1), 1)


def _size(value: object) -> object:
    """Returns the part of a variable's value that the cost depends on."""
    return ("items", len(value)) if isinstance(value, list) else value


def _variables_in(value: ValueNode) -> Iterator[str]:
    if isinstance(value, VariableNode):
        yield value.name.value
    elif isinstance(value, ListValueNode):
        for each in value.values:
            yield from _variables_in(each)
