"""A small answer to each journey."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from serialisation import values
from serialisation.values import Money

PRICE, TOTAL = Money(1999, "EUR"), Money(5997, "EUR")
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture(scope="session")
def answers() -> Mapping[str, Any]:
    """Answers with several products, lines and orders, non-ASCII letters, and a product without reviews."""
    reviews = (values.Review(301, 5, "Prächtig & <gut>"), values.Review(302, 1, "Łódź"))
    lines = (values.HistoryLine(7, "Lamp “Ü”", 2, PRICE), values.HistoryLine(8, "Chair", 1, PRICE))
    return {
        "browse": values.Browse(
            (values.BrowsedProduct(101, "Lamp", PRICE, 3, reviews), values.BrowsedProduct(102, "Chair", PRICE, 0, ()))
        ),
        "product": values.Product(7, "Lamp “Ü”", "What it is.", "c0001", PRICE, 3_000_000_000),
        "login": values.Login(1, "a@b.c", "Ada"),
        "order_history": values.OrderHistory(
            5,
            (
                values.HistoryOrder(51, "DELIVERED", AT, TOTAL, "CAPTURED", lines),
                values.HistoryOrder(50, "CANCELLED", AT, PRICE, "VOIDED", lines[1:]),
            ),
        ),
        "checkout": values.Checkout(
            10_001, "CONFIRMED", TOTAL, (values.BoughtLine(7, 2, PRICE), values.BoughtLine(9, 1, PRICE))
        ),
        "update_profile": values.UpdateProfile(6, values.Address("Ada", "Ahornweg 1", "Gdańsk", "01234", "PL")),
        "order_status": values.OrderStatus(12, "SHIPPED", TOTAL, values.StatusPayment("CAPTURED", TOTAL)),
        "bulk_lines": values.BulkLines(
            tuple(values.ExportedLine(1 + n, 20, 5, "PENDING", AT, 7 + n, 1, PRICE) for n in range(3))
        ),
        "document": values.Document(
            21, (values.DocumentSection("Heat", (values.DocumentRecord("Łódź", 3, 0.25, False, AT, PRICE),)),)
        ),
    }
