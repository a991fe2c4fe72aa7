"""Tables, as all four forms of the report use them."""

from __future__ import annotations

import pytest

from hops.elements.table import Column


@pytest.mark.parametrize(
    ("column", "key"),
    [
        (Column("per span", "µs"), "per_span_us"),
        (Column("share", "%"), "share_percent"),
        (Column("p99.9", "ms"), "p99_9_ms"),
        (Column("ended ok", "1/s"), "ended_ok_1_s"),
    ],
)
def test_a_column_of_csv_has_its_whole_unit(column: Column, key: str) -> None:
    assert column.key == key
