"""The cost of a document: what its answer can grow to.

A field costs 1, one that makes a call of its own (every field of Query, Mutation and Subscription) or is in `DEAR`
costs more. A field with `first` multiplies the cost of what is asked of its items by it; a list without one counts as 5
items. So `{ products(first: 20) { edges { node { title } } } }` costs 50 + 20 * 3 = 110. Introspection is counted by
the same rule, with as many items as the schema has.

`first` may be a variable, so the cost is known per document and values of the variables that it depends on. These are
coerced by graphql-core, as execution does, so that both see the same number.

Partners may ask for more than everybody else (`MOST_COST`), as only they have reasons to.
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
    GraphQLList,
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
    get_nullable_type,
    get_variable_values,
    type_from_ast,
)

from shop.platform.graphql.errors import RequestError
from shop.platform.graphql.limits import fragments_of, inner_of, name_of, operations_of

MOST_COST = 4_000
"""A unit takes about 10 µs of CPU. All that anyone may see of 100 products and their reviews costs 3,250, and the
query by which GraphiQL asks for the whole schema 3,547."""
MOST_COST_OF_PARTNERS = 16_000
"""The journey `bulk_lines` asks for 1,000 order lines, which costs 15,050."""
COST_OF_CALL = 50
COST_OF_REFUSAL = 16
"""What a field costs that not everybody may see: an error takes as long as the fields of several objects."""
ITEMS_OF_LIST = 5
FIELDS_OF_TYPE = 2
"""On average; a type has less than one of everything else that introspection lists."""
DEAR = {
    # Up to thousands of records: one at a time.
    ("Query", "document"): 2_500,
    # A call for each of its parents.
    ("User", "orders"): COST_OF_CALL,
    # Whoever may not see them gets an error for each.
    ("User", "address"): COST_OF_REFUSAL,
    ("User", "email"): COST_OF_REFUSAL,
    # A search through the whole order for each line of `orderLines`.
    ("OrderLine", "lineNumber"): 4,
}
"""What fields cost where it is more than 1, or other than what a call costs."""

_MOST_KNOWN = 64


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
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = cost
        return cost

    def _coerced(self, variables: Mapping[str, VariableDefinitionNode], values: Mapping[str, object]) -> VariableValues:
        coerced = get_variable_values(self._schema, variables.values(), dict(values), hide_suggestions=True)
        if isinstance(coerced, list):
            raise RequestError(coerced)
        return coerced

    def _measure(self, operation: OperationDefinitionNode, values: VariableValues) -> int:
        walk = _Walk(self._schema, self._document, values)
        return walk.cost(operation.selection_set, self._schema.get_root_type(operation.operation))


class _Walk:
    def __init__(self, schema: GraphQLSchema, document: DocumentNode, values: VariableValues) -> None:
        self._schema = schema
        self._fragments = fragments_of(document)
        self._values = values
        self._costs: dict[str, int] = {}
        self._roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
        self._introspected = {
            ("__Schema", "types"): len(schema.type_map),
            ("__Type", "fields"): FIELDS_OF_TYPE,
            # Most types wrap none, and of those that do most wrap one; GraphiQL asks for nine in each other.
            ("__Type", "ofType"): 0,
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
        if name not in self._costs:
            fragment = self._fragments[name]
            self._costs[name] = self.cost(fragment.selection_set, type_from_ast(self._schema, fragment.type_condition))
        return self._costs[name]

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
        return own + self._items(node, parent, definition) * self.cost(
            node.selection_set, get_named_type(definition.type)
        )

    def _items(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        first = definition.args.get("first")
        if first is None:
            if parent.name.startswith("__"):
                return self._introspected.get((parent.name, node.name.value), 1)
            if not isinstance(get_nullable_type(definition.type), GraphQLList):
                return 1
            # The edges of a connection were multiplied by its `first` already.
            return 1 if parent.name.endswith("Connection") else ITEMS_OF_LIST
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
