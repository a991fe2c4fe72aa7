"""The cost of a document: what its answer can grow to.

A field costs 1, one that makes a call of its own (every field of Query and Mutation, and `CALLS`) costs 50. A field
with `first` multiplies the cost of what is asked of its items by it; a list without one counts as 5 items. So
`{ products(first: 20) { edges { node { title } } } }` costs 50 + 20 * 3 = 110.

`first` may be a variable, so the cost is known per document and values of the variables that it depends on.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    type_from_ast,
)

from shop.errors import ResourceExhausted
from shop.platform.graphql.limits import fragments_of, inner_of, operations_of

MOST_COST = 25_000
COST_OF_CALL = 50
ITEMS_OF_LIST = 5
CALLS = frozenset({("User", "orders")})
"""Fields other than those of Query and Mutation that make a call for each of their parents."""

_MOST_KNOWN = 64


class CostModel:
    """The cost of one validated document, as far as its variables leave it open.

    Args:
        schema: What the document was validated against.
        document: The document.
    """

    __slots__ = ("_defaults", "_document", "_known", "_schema", "variables")

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self._schema = schema
        self._document = document
        self._known: dict[tuple[object, ...], int] = {}
        self._defaults: dict[str, object] = {}
        names: set[str] = set()
        for operation in operations_of(document):
            _find_variables(operation.selection_set, names)
            for variable in operation.variable_definitions or ():
                if isinstance(variable.default_value, IntValueNode):
                    self._defaults[variable.variable.name.value] = int(variable.default_value.value)
        for fragment in fragments_of(document).values():
            _find_variables(fragment.selection_set, names)
        self.variables = tuple(sorted(names))

    def check(self, values: Mapping[str, object]) -> int:
        """Returns the cost with these values of the variables.

        Raises:
            ResourceExhausted: It is above the limit.
        """
        key = tuple([values.get(name, self._defaults.get(name)) for name in self.variables])
        if not all(value is None or type(value) is int for value in key):
            # Not of the type that `first` takes, as execution is about to say.
            return 0
        cost = self._known.get(key)
        if cost is None:
            cost = self._measure(dict(zip(self.variables, key, strict=True)))
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = cost
        if cost > MOST_COST:
            raise ResourceExhausted(
                f"the operation has a cost of {cost}; the limit is {MOST_COST}; ask for fewer items (`first`) or fields"
            )
        return cost

    def _measure(self, values: Mapping[str, object]) -> int:
        walk = _Walk(self._schema, self._document, values)
        return max(
            walk.cost(operation.selection_set, self._schema.get_root_type(operation.operation))
            for operation in operations_of(self._document)
        )


class _Walk:
    def __init__(self, schema: GraphQLSchema, document: DocumentNode, values: Mapping[str, object]) -> None:
        self._schema = schema
        self._fragments = fragments_of(document)
        self._values = values
        self._costs: dict[str, int] = {}
        self._roots = (schema.query_type, schema.mutation_type)

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
        name = node.name.value
        # Introspection is bounded by the tokens, and by graphql-core's own rule about its depth.
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) or name.startswith("__"):
            return 1
        definition = self._schema.get_field(parent, name)
        if definition is None:
            return 1
        own = COST_OF_CALL if parent in self._roots or (parent.name, name) in CALLS else 1
        if node.selection_set is None:
            return own
        return own + self._items(node, parent, definition) * self.cost(
            node.selection_set, get_named_type(definition.type)
        )

    def _items(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        if "first" not in definition.args:
            is_list = isinstance(get_nullable_type(definition.type), GraphQLList)
            # The edges of a connection were multiplied by its `first` already.
            return ITEMS_OF_LIST if is_list and not parent.name.endswith("Connection") else 1
        value: object = definition.args["first"].default_value
        for argument in node.arguments or ():
            if argument.name.value == "first":
                if isinstance(argument.value, IntValueNode):
                    value = int(argument.value.value)
                elif isinstance(argument.value, VariableNode):
                    value = self._values.get(argument.value.name.value, value)
        return max(value, 1) if isinstance(value, int) else 1


def _find_variables(selection_set: SelectionSetNode, names: set[str]) -> None:
    for selection in selection_set.selections:
        if isinstance(selection, FieldNode):
            for argument in selection.arguments or ():
                if argument.name.value == "first" and isinstance(argument.value, VariableNode):
                    names.add(argument.value.name.value)
        inner = inner_of(selection)
        if inner is not None:
            _find_variables(inner, names)
