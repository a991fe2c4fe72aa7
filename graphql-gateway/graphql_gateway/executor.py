"""graphql-core's executor, with a short way for values that need none of its generality.

Most of an answer is attributes of objects that are there already: numbers, texts, prices. For each of them
graphql-core builds a `GraphQLResolveInfo`, calls a resolver, and asks of which of seven kinds the type is. Here an
attribute is taken as it is wherever the exact class of its value shows that the general way would do no more; in
every other case, errors included, the general way is taken. So this changes how long an answer takes, never the
answer.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from graphql import GraphQLNonNull, GraphQLObjectType, GraphQLOutputType, GraphQLResolveInfo
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from graphql.pyutils import AwaitableOrValue, Path, gather_with_cancel

from graphql_gateway.shortcuts import Shortcut, Shortcuts

Plan: TypeAlias = list[tuple[str, Shortcut, "Plan | None"]]
"""What to take of an object: the answer's key, the shortcut, and the plan of the object that it leads to."""

_NONE = Shortcuts({}, {})


class ShortcutExecutor(Executor[None]):
    """Executes one operation; `with_shortcuts` makes the class of one schema."""

    shortcuts: Shortcuts = _NONE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Lists stay alive as keys of the executor's own cache, so that their ids are not given out again.
        self._plans: dict[int, Plan | None] = {}

    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: GroupedFieldSet,
        position_context: None,
    ) -> AwaitableOrValue[dict[str, Any]]:
        """Executes the fields of one object, each the short way if it can."""
        shortcuts = self.shortcuts.fields.get(parent_type.name)
        if not shortcuts:
            return super().execute_fields(parent_type, source_value, path, grouped_field_set, position_context)
        results: dict[str, Any] = {}
        pending: list[str] = []
        is_awaitable = self.is_awaitable
        try:
            for key, details in grouped_field_set.items():
                shortcut = shortcuts.get(details[0].node.name.value)
                if shortcut is not None:
                    value = getattr(source_value, shortcut.attribute, None)
                    if type(value) is shortcut.kind:
                        taken = self._take(shortcut, value, details)
                        if taken is not None:
                            results[key] = taken
                            continue
                result = self.execute_field(
                    parent_type, source_value, details, Path(path, key, parent_type.name), position_context
                )
                results[key] = result
                if is_awaitable(result):
                    pending.append(key)
        except Exception:
            if pending:
                self.settle_in_background([results[key] for key in pending])
            raise
        return _settled(results, pending) if pending else results

    def complete_list_item_value(
        self,
        item: Any,
        complete_results: list[Any],
        item_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        item_path: Path,
        position_context: None,
    ) -> bool:
        """Completes one item of a list, the short way if it is an object of which only attributes are asked."""
        if isinstance(item_type, GraphQLNonNull):
            inner = item_type.of_type
            if isinstance(inner, GraphQLObjectType) and type(item) is self.shortcuts.classes.get(inner.name):
                plan = self._plan(inner, field_details_list)
                taken = None if plan is None else _follow(plan, item)
                if taken is not None:
                    complete_results.append(taken)
                    return False
        return super().complete_list_item_value(
            item, complete_results, item_type, field_details_list, info, item_path, position_context
        )

    def _take(self, shortcut: Shortcut, value: Any, details: FieldDetailsList) -> Any:
        if shortcut.type is not None:
            plan = self._plan(shortcut.type, details)
            return None if plan is None else _follow(plan, value)
        return value if shortcut.coerce is None else shortcut.coerce(value)

    def _plan(self, type_: GraphQLObjectType, details: FieldDetailsList) -> Plan | None:
        """Returns how to take all that is asked of an object, None if some of it needs the general way."""
        known = self._plans.get(id(details), self)
        if known is not self:
            return known  # type: ignore[return-value]
        plan: Plan = []
        whole = True
        shortcuts = self.shortcuts.fields.get(type_.name, {})
        for key, inner in self.collect_subfields(type_, details).grouped_field_set.items():
            shortcut = shortcuts.get(inner[0].node.name.value)
            nested = None if shortcut is None or shortcut.type is None else self._plan(shortcut.type, inner)
            if shortcut is None or (shortcut.type is not None and nested is None):
                whole = False
                break
            plan.append((key, shortcut, nested))
        self._plans[id(details)] = plan if whole else None
        return self._plans[id(details)]


def with_shortcuts(shortcuts: Shortcuts) -> type[ShortcutExecutor]:
    """Returns the executor's class for the schema that the shortcuts are of."""
    return type("ShortcutExecutor", (ShortcutExecutor,), {"shortcuts": shortcuts})


def _follow(plan: Plan, source: Any) -> dict[str, Any] | None:
    results = {}
    for key, shortcut, nested in plan:
        value = getattr(source, shortcut.attribute, None)
        if type(value) is not shortcut.kind:
            return None
        if nested is not None:
            value = _follow(nested, value)
        elif shortcut.coerce is not None:
            value = shortcut.coerce(value)
        if value is None:
            return None
        results[key] = value
    return results


async def _settled(results: dict[str, Any], pending: list[str]) -> dict[str, Any]:
    if len(pending) == 1:
        results[pending[0]] = await results[pending[0]]
    else:
        values = await gather_with_cancel(*[results[key] for key in pending])
        results.update(zip(pending, values, strict=True))
    return results
