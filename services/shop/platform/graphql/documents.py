"""Documents that are ready to be executed: parsed, validated and measured once, then cached."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache
from graphql import (
    BREAK,
    DocumentNode,
    FieldNode,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    parse,
    validate,
    visit,
)

from shop.errors import InvalidArgument
from shop.platform.admission import LimitedLock
from shop.platform.graphql.cost import CostModel
from shop.platform.graphql.error_format import PersistedQueryNotFound, RequestError
from shop.platform.graphql.limits import (
    MAX_TOKENS,
    check_length,
    check_numbers,
    check_parser_limits,
    check_shape,
    name_of,
    nested_too_deeply,
    operations_of,
)
from shop.platform.telemetry.tracing import child_span

# A document of 500 tokens takes about 250 KB, so each of the two stores stays below 32 MB.
MAX_DOCUMENTS = 128
MAX_ERRORS = 5
"""Maximum number of mistakes in a document that are reported to its sender; validation stops at the next mistake."""
PAUSE_FACTOR = 8
"""How long unknown documents wait after the preparation of a document, as a multiple of the CPU time that it took."""
MAX_WAITING = 64
"""Maximum number of requests from one address that wait for unknown documents: a quarter of the requests that the edge
passes on to a process at a time."""

V = TypeVar("V")

Measure: TypeAlias = Callable[[GraphQLSchema, DocumentNode], CostModel]
"""Computes the cost of a validated document."""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that can be executed.

    Attributes:
        operations: Its operations by name; the name is empty for an operation without a name.
        cost: None where costs are not limited.
        fields: Numbers of fields that `Execution` has counted for the document.
        is_public: Whether everyone gets the same answer.
    """

    document: DocumentNode
    operations: Mapping[str, OperationDefinitionNode]
    cost: CostModel | None
    fields: dict[int, int] = field(default_factory=dict)
    is_public: bool = False

    def operation(self, name: str | None) -> OperationDefinitionNode:
        """Returns the operation of a name, or the only one; raises `InvalidArgument` if it is unknown or unclear."""
        if name is None and len(self.operations) == 1:
            return next(iter(self.operations.values()))
        operation = self.operations.get(name or "")
        if operation is None:
            valid = ", ".join(self.operations)
            known = f"the document has the operations {valid}" if valid else "the document's operation has no name"
            raise InvalidArgument(
                f"operationName is {name!r}; {known}"
                if name
                else f"the document has several operations, so operationName is needed: {valid}",
                field="operationName",
            )
        return operation


class Documents:
    """Turns what clients send into documents that can be executed, and keeps `capacity` of each kind.

    Documents sent as text and documents persisted by hash have separate stores, so that a flood of texts cannot evict
    the persisted ones. Unknown documents are prepared one at a time, in a separate thread and with pauses in between. A
    flood of them therefore takes little time from clients that send known documents. Client addresses take turns, so a
    flood from one address delays another address by one document. A waiting request occupies one of the edge's
    connections, so an address gets no further one while many of its requests wait.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        measure: Measure | None = None,
        capacity: int = MAX_DOCUMENTS,
        public: Set[str] = frozenset(),
    ) -> None:
        self._schema = schema
        self._measure = measure
        self._public = public
        self._turn = asyncio.Lock()
        # One document of each address waits for the turn; the address's other documents wait for that document.
        self._queues: WeakValueDictionary[str | None, LimitedLock] = WeakValueDictionary()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="documents")
        self._paused_until = 0.0
        self._by_text: LRUCache[str, PreparedDocument] = LRUCache(capacity)
        self._by_hash: LRUCache[str, PreparedDocument] = LRUCache(capacity)

    async def find(self, text: str | None, sha256: str | None, address: str | None = None) -> PreparedDocument:
        """Returns the document of a request: its text, its SHA-256 in lower-case hexadecimal, or both.

        Args:
            address: The client's address; None for a request from inside.

        Raises:
            PersistedQueryNotFound: The hash is unknown, and the request has no text.
            InvalidArgument: The hash belongs to another text.
            RequestError: The document is malformed, or not valid for the schema.
            ResourceExhausted: The document exceeds a limit that does not depend on variables.
            TooManyRequests: Too many requests from the address wait for unknown documents.
        """
        if sha256 is None:
            if text is None:
                raise InvalidArgument("query is missing; send the GraphQL document as its text", field="query")
            return await self._of_text(text, address)
        known = self._by_hash.get(sha256)
        if text is None:
            if known is None:
                raise PersistedQueryNotFound
            return known
        if not hmac.compare_digest(hashlib.sha256(text.encode()).hexdigest().encode(), sha256.encode()):
            raise InvalidArgument(
                "sha256Hash is not the SHA-256 of query, in lower-case hexadecimal",
                field="extensions.persistedQuery.sha256Hash",
            )
        if known is None:
            known = await self._of_text(text, address)
            self._by_hash[sha256] = known
        return known

    async def _of_text(self, text: str, address: str | None) -> PreparedDocument:
        known = self._by_text.get(text)
        if known is not None:
            return known
        refusal = "too many requests from this address wait for new documents; send known ones, or try again in 1 s"
        queue = self._queues.setdefault(address, LimitedLock(MAX_WAITING, refusal))
        # A caller inside the shop has many clients.
        with nullcontext() if address is None else queue.places.hold():
            async with queue, self._turn:
                known = self._by_text.get(text)
                if known is None:
                    await asyncio.sleep(self._paused_until - time.monotonic())
                    known = await self._prepare(text)
                    self._by_text[text] = known
                return known

    async def _prepare(self, text: str) -> PreparedDocument:
        # Only the thread of the event loop records spans.
        with child_span("graphql.parse"):
            document = await self._run_in_thread(lambda: parse_document(text))
        with child_span("graphql.validate"):
            return await self._run_in_thread(
                lambda: prepare_document(self._schema, document, self._measure, self._public)
            )

    async def _run_in_thread(self, work: Callable[[], V]) -> V:
        def run_timed() -> V:
            began = time.thread_time()
            try:
                return work()
            finally:
                took = time.thread_time() - began
                self._paused_until = max(self._paused_until, time.monotonic()) + PAUSE_FACTOR * took

        # One thread: it finishes the work of a cancelled request before it begins the next.
        return await asyncio.get_running_loop().run_in_executor(self._thread, run_timed)


def parse_document(text: str) -> DocumentNode:
    """Parses a document and checks its limits; raises the errors of `Documents.find`."""
    check_length(text)
    try:
        document = parse(text, max_tokens=MAX_TOKENS)
        check_numbers(document)
        check_shape(document)
    except GraphQLSyntaxError as error:
        check_parser_limits(error.message)
        raise RequestError([error]) from error
    except RecursionError as error:
        raise nested_too_deeply() from error
    return document


def prepare_document(
    schema: GraphQLSchema, document: DocumentNode, measure: Measure | None, public: Set[str] = frozenset()
) -> PreparedDocument:
    """Validates and measures a parsed document; raises the errors of `Documents.find`."""
    try:
        # Suggestions cost more than the rest of validation, and fail on texts whose lower case is longer: "\u0130".
        errors = validate(schema, document, max_errors=MAX_ERRORS, hide_suggestions=True)
    except RecursionError as error:
        raise nested_too_deeply() from error
    if errors:
        raise RequestError(errors)
    operations = {name_of(node): node for node in operations_of(document)}
    if not operations:
        raise InvalidArgument("the document has no operation; add a query or a mutation", field="query")
    cost = measure(schema, document) if measure is not None else None
    return PreparedDocument(document, operations, cost, is_public=is_public(schema, document, public))


def is_mutation(operation: OperationDefinitionNode) -> bool:
    return operation.operation is OperationType.MUTATION


def is_public(schema: GraphQLSchema, document: DocumentNode, public: Set[str]) -> bool:
    """Returns whether all fields in a document's operations and fragments are public, as introspection is.

    `public` names types whose fields are all public, and single fields: "Query.products".
    """
    if not public:
        return False
    types = TypeInfo(schema)
    visitor = _PersonalFields(types, public)
    visit(document, TypeInfoVisitor(types, visitor))
    return not visitor.has_any


class _PersonalFields(Visitor):
    def __init__(self, types: TypeInfo, public: Set[str]) -> None:
        super().__init__()
        self.has_any = False
        self._types = types
        self._public = public

    def enter_field(self, node: FieldNode, *_: object) -> Any:
        name, parent = node.name.value, self._types.get_parent_type()
        owner = "" if parent is None else parent.name
        is_introspection = name.startswith("__") or owner.startswith("__")
        if is_introspection or owner in self._public or f"{owner}.{name}" in self._public:
            return None
        self.has_any = True
        return BREAK
