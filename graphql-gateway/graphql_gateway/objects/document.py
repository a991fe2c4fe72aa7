"""Technical documents of the catalogue."""

from __future__ import annotations

from typing import cast

import strawberry

from graphql_gateway.objects.global_id import global_id
from shop.platform.graphql.scalars import Long, Moment, Money
from shop.values.product import Document as ShopDocument


@strawberry.type(description="One test of a technical document.")
class DocumentRecord:
    """Has the attributes of the service's record, so that resolvers return records, and whole sections, unchanged."""

    text: str
    count: Long = strawberry.field(description="Pieces that were tested.")
    value: float = strawberry.field(description="What was measured, in the unit of its section.")
    ok: bool = strawberry.field(description="Whether the value is within its limits.")
    at: Moment | None = strawberry.field(description="When it was measured; null if that is not known.")
    price: Money | None = strawberry.field(description="What the test cost; null if that is not known.")


@strawberry.type(description="The records of a technical document below one heading.")
class DocumentSection:
    title: str
    records: list[DocumentRecord]


@strawberry.type(description="A technical document: the records of tests, in sections.")
class Document:
    id: strawberry.ID
    sections: list[DocumentSection]

    @classmethod
    def of(cls, document: ShopDocument) -> Document:
        return cls(
            id=strawberry.ID(global_id("Document", document.id)),
            sections=cast(list[DocumentSection], document.sections),
        )
