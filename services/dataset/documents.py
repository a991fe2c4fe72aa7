"""The seeded technical documents, each of exactly the intended size.

The size of a document is the size of its canonical form: JSON with sorted keys, without spaces and without absent
values, in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
from msgspec import json, structs

from dataset import words
from dataset.rows import CURRENCY, FIRST_PLACED, LAST_PLACED, Draws, Table, blocks
from shop.money import Money
from shop.values.product import MAX_RECORDS, Document, DocumentRecord, DocumentSection

SIZES = {100: 20, 1_000: 20, 10_000: 20, 100_000: 5, 1_000_000: 3}
"""Number of documents of each size in bytes, in the order of their ids, at every scale."""
TITLES = ("Use", "Size", "Load", "Heat", "Cold", "Wear", "Care", "Safety")
MIN_RECORD = 90
ROOM = 160
"""Bytes that always suffice for one more record in a new section."""
MIN_WHOLE = 500
"""Size in bytes from which records have a time and a price; both would take more than half of 100 bytes."""
COLUMNS = ("document_id", "number", "section", "text", "count", "value", "ok", "at", "price_minor", "currency")
NULL = "\\N"


def documents(seed: int) -> Iterator[Document]:
    """Yields the documents by ascending id."""
    draws, number = Draws(seed), 0
    for size, count in SIZES.items():
        for _ in range(count):
            number += 1
            yield document(draws, number, size)


def document(draws: Draws, number: int, size: int) -> Document:
    """Makes a document.

    Args:
        size: Size of its canonical form in bytes, at least 100.
    """
    sections: list[tuple[str, list[DocumentRecord]]] = []
    left = size - len(json.encode(Document(number, ())))
    for at, drawn in enumerate(_records(draws, number, size)):
        if at % MAX_RECORDS == 0:
            sections.append((TITLES[len(sections) % len(TITLES)], []))
            left -= len(json.encode(DocumentSection(sections[-1][0], ())))
        # The comma before it, within a section or between two.
        left -= len(json.encode(drawn)) + (at > 0)
        is_last = left < ROOM
        record = structs.replace(drawn, text=_text(at, len(drawn.text) + left)) if is_last else drawn
        sections[-1][1].append(record)
        if is_last:
            break
    return Document(number, tuple(DocumentSection(title, tuple(records)) for title, records in sections))


def documents_table(seed: int) -> Table:
    """Returns the rows of all documents."""
    rows = [
        (
            document.id,
            number,
            title,
            record.text,
            record.count,
            record.value,
            record.ok,
            NULL if record.at is None else record.at.isoformat(),
            *((NULL, NULL) if record.price is None else (record.price.amount_minor, record.price.currency)),
        )
        for document in documents(seed)
        for number, (title, record) in enumerate(
            ((section.title, record) for section in document.sections for record in section.records), 1
        )
    ]
    return Table("shop_product.document_record", COLUMNS, len(rows), blocks(rows))


def _records(draws: Draws, number: int, size: int) -> Iterator[DocumentRecord]:
    index = number * max(SIZES) + np.arange(size // MIN_RECORD + 1)

    def draw(purpose: str, low: int, high: int) -> list[int]:
        whole: list[int] = draws.between(f"document {purpose}", index, low, high).tolist()
        return whole

    counts, oks = draw("count", 1, 99), draw("ok", 0, 9)
    # Hundredths never end in 0: languages differ in how they write a float without a fraction.
    tenths, hundredths = draw("tenths", 0, 999), draw("hundredths", 1, 9)
    moments, prices = draw("at", FIRST_PLACED, LAST_PLACED), draw("price", 100, 99_999)
    is_whole = size >= MIN_WHOLE
    for at in range(len(index)):
        yield DocumentRecord(
            words.REMARKS[at % len(words.REMARKS)],
            counts[at],
            (10 * tenths[at] + hundredths[at]) / 100,
            oks[at] > 0,
            datetime.fromtimestamp(moments[at], UTC) if is_whole else None,
            Money(prices[at], CURRENCY) if is_whole else None,
        )


def _text(at: int, length: int) -> str:
    """Cuts a text out of the remarks, beginning with one of them."""
    first = at % len(words.REMARKS)
    return " ".join(words.REMARKS[first:] + words.REMARKS)[:length]
