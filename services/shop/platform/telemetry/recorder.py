"""The port that span recorders implement."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, TypeAlias

from opentelemetry.trace import Span, SpanContext, SpanKind
from opentelemetry.util.types import AttributeValue

INTERNAL, SERVER, CLIENT = SpanKind.INTERNAL.value, SpanKind.SERVER.value, SpanKind.CLIENT.value
PRODUCER, CONSUMER = SpanKind.PRODUCER.value, SpanKind.CONSUMER.value

Attributes: TypeAlias = Mapping[str, AttributeValue] | None
SharedAttributes: TypeAlias = tuple[str | int, ...]
"""Attributes that many spans have in common: their names, then their values. A span overrides none of them."""

Parent: TypeAlias = Span | SpanContext
"""The parent span: a span of this process, or the context of a remote span."""


def shared_attributes(attributes: Mapping[str, str | int]) -> SharedAttributes:
    """Returns attributes in the form in which spans share them."""
    return (*attributes, *attributes.values())


@lru_cache(maxsize=4096)
def attributes_by_name(shared: SharedAttributes) -> Mapping[str, str | int]:
    middle = len(shared) // 2
    return {str(name): value for name, value in zip(shared[:middle], shared[middle:], strict=True)}


class Tracing(Protocol):
    """Records the spans of sampled requests."""

    def start(
        self, name: str, kind: int, parent: Parent, attributes: Attributes = None, shared: SharedAttributes = ()
    ) -> Span:
        """Starts a span below a sampled one, with a low-cardinality name, and never personal or payment data."""

    def note(
        self,
        name: str,
        kind: int,
        parent: Parent,
        start: int,
        attributes: SharedAttributes = (),
        error: BaseException | None = None,
        link: SpanContext | None = None,
    ) -> None:
        """Records a span without children that ends now, and started at `start`, in ns since the epoch.

        An error ended it early; a link leads to the span of another trace that caused it.
        """
