"""Runs prepared documents.

Strawberry builds the schema; its `Schema.execute` would add per-request extensions to run, none of which is needed
here: documents come parsed, validated and measured from `graphql_gateway.documents`.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import strawberry
from graphql import ExecutionResult, OperationDefinitionNode, execute

from graphql_gateway.context import Context
from graphql_gateway.documents import Prepared


class Execution:
    """Runs documents against one schema.

    Args:
        schema: Strawberry's.
    """

    def __init__(self, schema: strawberry.Schema) -> None:
        self._schema = schema._schema
        self._executor_class = schema.execution_context_class

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
        if isawaitable(result):
            return await result
        return result
