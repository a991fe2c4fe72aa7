"""Runs prepared documents.

Strawberry builds the schema; its `Schema.execute` would run per-request extensions around each step, none of which
is needed here: documents come parsed, validated and measured from `graphql_gateway.documents`.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import strawberry
from graphql import ExecutionResult, OperationDefinitionNode, execute
from graphql.execution import Executor

from graphql_gateway.context import Context
from graphql_gateway.documents import Prepared
from graphql_gateway.executor import with_shortcuts
from graphql_gateway.shortcuts import shortcuts_of


class Execution:
    """Runs documents against one schema.

    Args:
        schema: Strawberry's.
        executor_class: Another executor, to compare with.
    """

    def __init__(self, schema: strawberry.Schema, executor_class: type[Executor[Any]] | None = None) -> None:
        self._schema = schema._schema
        self._executor_class = executor_class or with_shortcuts(shortcuts_of(schema))

    async def run(
        self, prepared: Prepared, operation: OperationDefinitionNode, variables: dict[str, Any], context: Context
    ) -> ExecutionResult:
        """Runs one operation.

        Args:
            prepared: Its document.
            operation: Which of the document's operations.
            variables: As the client sent them.
            context: What the resolvers share.
        """
        result = execute(
            self._schema,
            prepared.document,
            variable_values=variables,
            operation_name=operation.name.value if operation.name else None,
            context_value=context,
            executor_class=self._executor_class,
        )
        return await result if isawaitable(result) else result
