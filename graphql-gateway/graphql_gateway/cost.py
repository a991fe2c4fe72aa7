"""The cost of a document: how many fields its answer can have.

A field costs 1. One that makes a call, as every field of Query, Mutation and Subscription does, or that is in `DEAR`
costs more. A list multiplies the cost of what is asked of its items by the most items that it can have: its `first`, or
what `ITEMS` says. So `{ products(first: 20) { edges { node { title } } } }` costs 50 + 20 * 3 = 110. Introspection is
counted by the same rule, with as many items as the schema has.

`first` may be a variable, so the cost is known per document and values of the variables that it depends on. These are
coerced by graphql-core, as execution does, so that both see the same number.

No answer has more fields than its document costs; `shop.platform.graphql.execution` stops one that would.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    VariableValues,
    get_argument_values,
    get_named_type,
    get_variable_values,
    type_from_ast,
)

from shop.platform.graphql.error_format import RequestError
from shop.platform.graphql.execution import returns_list
from shop.platform.graphql.limits import fragments_of, inner_of, name_of, operations_of
from shop.values.notification import KEPT
from shop.values.order import MAX_LINES
from shop.values.product import MAX_RECORDS, MAX_SECTIONS

MAX_COST = 12_000
"""A field takes about 10 µs of CPU. The journey `order_history` asks for 10 orders, which costs 11,211 as each may have
100 lines; the query by which GraphiQL asks for the whole schema costs 8,319."""
MAX_COST_OF_PARTNERS = 16_000
"""The journey `bulk_lines` asks for 1,000 order lines, which costs 15,050."""
MAX_COST_OF_DOCUMENT = 53_000
"""For requests that ask for one technical document and nothing else: the journey `document` costs 52,572."""
COST_OF_CALL = 50
COST_OF_REFUSAL = 16
"""What a field costs that not everybody may see: an error takes as long as the fields of several objects."""
ITEMS = {
    ("Document", "sections"): MAX_SECTIONS,
    ("DocumentSection", "records"): MAX_RECORDS,
    ("Order", "lines"): MAX_LINES,
    ("Query", "notifications"): KEPT,
}
"""The most items of each list without `first`."""
DEAR = {
    # A call for each of its parents.
    ("User", "orders"): COST_OF_CALL,
    # A caller who may not see them gets an error for each.
    ("User", "address"): COST_OF_REFUSAL,
    ("User", "email"): COST_OF_REFUSAL,
    # A search through the whole order for each line of `orderLines`.
    ("OrderLine", "lineNumber"): 4,
}
"""What fields cost where it is more than 1, or other than what a call costs."""
FIELDS_OF_TYPE = 2
"""On average; a type has less than one of everything else that introspection lists."""
FIELDS_OF_LARGEST_TYPE = 11
MAX_WRAPS = 3
"""A type that is written `[X!]!` wraps X three times; GraphiQL asks for nine."""

_MAX_KNOWN = 64
_NAMING_A_TYPE = (
    ("Query", "__type"),
    ("__Schema", "queryType"),
    ("__Schema", "mutationType"),
    ("__Schema", "subscriptionType"),
)


def max_cost(operation: OperationDefinitionNode, *, is_partner: bool) -> int:
    """Returns the most that an operation may cost."""
    if all(isinstance(one, FieldNode) and one.name.value == "document" for one in operation.selection_set.selections):
        return MAX_COST_OF_DOCUMENT
    return MAX_COST_OF_PARTNERS if is_partner else MAX_COST


class CostModel:
    """The cost of one validated document, as far as its variables leave it open."""

    __slots__ = ("_document", "_known", "_schema", "_variables")

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self._schema = schema
        self._document = document
        self._known: dict[tuple[object, ...], int] = {}
        names: set[str] = set()
        for definition in (*operations_of(document), *fragments_of(document).values()):
            _find_variables(definition.selection_set, names)
        self._variables = {
            name_of(operation): {
                variable.variable.name.value: variable
                for variable in operation.variable_definitions or ()
                if variable.variable.name.value in names
            }
            for operation in operations_of(document)
        }

    def of(self, operation: OperationDefinitionNode, values: Mapping[str, object]) -> int:
        """Returns the cost of an operation with these values of the variables.

        Raises:
            RequestError: A variable that the cost depends on is missing, or of the wrong type.
        """
        name = name_of(operation)
        variables = self._variables[name]
        key = (name, *[values.get(variable, Undefined) for variable in variables])
        try:
            cost = self._known.get(key)
        except TypeError:  # a list or an object, which is no number
            cost = None
        if cost is None:
            cost = self._measure(operation, self._coerced(variables, values))
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = cost
        return cost

    def _coerced(self, variables: Mapping[str, VariableDefinitionNode], values: Mapping[str, object]) -> VariableValues:
        coerced = get_variable_values(self._schema, variables.values(), dict(values), hide_suggestions=True)
        if isinstance(coerced, list):
            raise RequestError(coerced)
        return coerced

    def _measure(self, operation: OperationDefinitionNode, values: VariableValues) -> int:
        walk = _CostCounter(self._schema, self._document, values)
        return walk.cost(operation.selection_set, self._schema.get_root_type(operation.operation))


class _CostCounter:
    def __init__(self, schema: GraphQLSchema, document: DocumentNode, values: VariableValues) -> None:
        self._schema = schema
        self._fragments = fragments_of(document)
        self._values = values
        self._costs: dict[tuple[str, int], int] = {}
        self._wraps = 0
        self._roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
        self._introspected = {
            ("__Schema", "types"): len(schema.type_map),
            ("__Type", "fields"): FIELDS_OF_TYPE,
            # These name one type, which may be the largest.
            **dict.fromkeys(_NAMING_A_TYPE, FIELDS_OF_LARGEST_TYPE // FIELDS_OF_TYPE + 1),
        }

    def cost(self, selection_set: SelectionSetNode, parent: GraphQLNamedType | None) -> int:
        total = 0
        for selection in selection_set.selections:
            if isinstance(selection, FieldNode):
                total += self._field(selection, parent)
            elif isinstance(selection, FragmentSpreadNode):
                total += self._fragment(selection.name.value)
            elif isinstance(selection, InlineFragmentNode):
                condition = selection.type_condition
                total += self.cost(
                    selection.selection_set, type_from_ast(self._schema, condition) if condition else parent
                )
        return total

    def _fragment(self, name: str) -> int:
        key = (name, self._wraps)
        if key not in self._costs:
            fragment = self._fragments[name]
            self._costs[key] = self.cost(fragment.selection_set, type_from_ast(self._schema, fragment.type_condition))
        return self._costs[key]

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None) -> int:
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
            return 1
        name = node.name.value
        definition = self._schema.get_field(parent, name)
        if definition is None:
            return 1
        is_call = parent in self._roots and not name.startswith("__")
        own = DEAR.get((parent.name, name), COST_OF_CALL if is_call else 1)
        if node.selection_set is None:
            return own
        items, wraps = self._items(node, parent, definition), self._wraps
        self._wraps = min(wraps + 1, MAX_WRAPS) if name == "ofType" else 0
        inside = self.cost(node.selection_set, get_named_type(definition.type))
        self._wraps = wraps
        return own + items * inside

    def _items(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        first = definition.args.get("first")
        if first is None:
            place = (parent.name, node.name.value)
            if place == ("__Type", "ofType"):
                return int(self._wraps < MAX_WRAPS)
            if "__" in (parent.name[:2], node.name.value[:2]):
                return self._introspected.get(place, 1)
            # The edges of a connection were multiplied by its `first` already.
            return ITEMS[place] if returns_list(definition) and not parent.name.endswith("Connection") else 1
        only_first = GraphQLField(definition.type, args={"first": first})
        try:
            items: int = get_argument_values(only_first, node, self._values)["first"]
            return max(items, 1)
        except GraphQLError:  # null, which execution refuses too, before it resolves the field
            return 1


def _find_variables(selection_set: SelectionSetNode, names: set[str]) -> None:
    for selection in selection_set.selections:
        if isinstance(selection, FieldNode):
            for argument in selection.arguments or ():
                if argument.name.value == "first" and isinstance(argument.value, VariableNode):
                    names.add(argument.value.name.value)
        inner = inner_of(selection)
        if inner is not None:
            _find_variables(inner, names)
