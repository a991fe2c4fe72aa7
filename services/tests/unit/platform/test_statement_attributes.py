"""What a span says of a statement: operation and table, never a value."""

from __future__ import annotations

import pytest

from shop.platform.database.statement_tracing import statement_attributes


@pytest.mark.parametrize(
    ("query", "summary"),
    [
        ("SELECT id FROM product WHERE id = $1", "SELECT product"),
        ("\n    INSERT INTO account (email) VALUES ($1) RETURNING id", "INSERT account"),
        ("UPDATE product SET stock = $2 WHERE id = $1", "UPDATE product"),
        ("DELETE FROM shop_order.orders WHERE id = $1", "DELETE shop_order.orders"),
        ("SELECT id FROM product ORDER BY id FOR UPDATE", "SELECT product"),
        ("BEGIN;", "BEGIN"),
        ("COMMIT;", "COMMIT"),
        ("SELECT 1", "SELECT"),
        ("", "QUERY"),
        # A WITH is named after the statement that it leads to.
        ("WITH gone AS (DELETE FROM line) INSERT INTO old (id) SELECT id FROM gone", "INSERT old"),
        ("WITH placed AS (INSERT INTO orders (id) VALUES ($1) RETURNING id) SELECT id FROM placed", "INSERT orders"),
        ("INSERT INTO orders (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = 1", "INSERT orders"),
        ("WITH a AS (SELECT (1) FROM (SELECT 2) AS x) SELECT b FROM orders", "SELECT orders"),
        # A function call is no table.
        (
            "SELECT r.* FROM unnest($1::int[]) AS w JOIN LATERAL (SELECT * FROM review) AS r ON true",
            "SELECT review",
        ),
        ("SELECT EXISTS (SELECT FROM line WHERE id = $1)", "SELECT line"),
    ],
)
def test_summary_names_operation_and_table(query: str, summary: str) -> None:
    attributes = statement_attributes(query)
    assert attributes["db.query.summary"] == summary
    assert attributes["db.operation.name"] == summary.partition(" ")[0]
    assert attributes["db.system.name"] == "postgresql"
