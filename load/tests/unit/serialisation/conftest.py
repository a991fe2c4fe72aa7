"""A small answer to each journey."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from serialisation import answer_types
from serialisation.answer_types import Money

PRICE, TOTAL = Money(1999, "EUR"), Money(5997, "EUR")
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture(scope="session")
def answers() -> Mapping[str, Any]:
    """Answers with several products, lines and orders, non-ASCII letters, and a product without reviews."""
    reviews = (answer_types.Review(301, 5, "Prächtig & <gut>"), answer_types.Review(302, 1, "Łódź"))
    lines = (answer_types.HistoryLine(7, "Lamp “Ü”", 2, PRICE), answer_types.HistoryLine(8, "Chair", 1, PRICE))
    return {
        "browse": answer_types.Browse(
            (
                answer_types.BrowsedProduct(101, "Lamp", PRICE, 3, reviews),
                answer_types.BrowsedProduct(102, "Chair", PRICE, 0, ()),
            )
        ),
        "product": answer_types.Product(7, "Lamp “Ü”", "What it is.", "c0001", PRICE, 3_000_000_000),
        "login": answer_types.Login(1, "a@b.c", "Ada"),
        "order_history": answer_types.OrderHistory(
            5,
            (
                answer_types.HistoryOrder(51, "DELIVERED", AT, TOTAL, "CAPTURED", lines),
                answer_types.HistoryOrder(50, "CANCELLED", AT, PRICE, "VOIDED", lines[1:]),
            ),
        ),
        "checkout": answer_types.Checkout(
            10_001, "CONFIRMED", TOTAL, (answer_types.BoughtLine(7, 2, PRICE), answer_types.BoughtLine(9, 1, PRICE))
        ),
        "update_profile": answer_types.UpdateProfile(
            6, answer_types.Address("Ada", "Ahornweg 1", "Gdańsk", "01234", "PL")
        ),
        "order_status": answer_types.OrderStatus(12, "SHIPPED", TOTAL, answer_types.StatusPayment("CAPTURED", TOTAL)),
        "bulk_lines": answer_types.BulkLines(
            tuple(answer_types.ExportedLine(1 + n, 20, 5, "PENDING", AT, 7 + n, 1, PRICE) for n in range(3))
        ),
        "document": answer_types.Document(
            21,
            (answer_types.DocumentSection("Heat", (answer_types.DocumentRecord("Łódź", 3, 0.25, False, AT, PRICE),)),),
        ),
    }
