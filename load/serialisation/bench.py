"""Runs both halves, and gives the results as rows for programs and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hops.elements.table import Cell as TableCell
from hops.elements.table import Column, Table, estimate, number, whole, words
from serialisation.go_half import GoHalf
from serialisation.python_half import cells as python_cells
from serialisation.rounds import GUNZIP, GZIP, OPERATIONS, Cell, Row, Size, Subject, measure_rounds


@dataclass(frozen=True, slots=True)
class Result:
    sizes: Mapping[Subject, Size]
    rows: Sequence[Row]

    def as_dicts(self) -> list[dict[str, Any]]:
        return [
            {
                "journey": row.subject.journey,
                "encoding": row.subject.encoding,
                "library": row.subject.library,
                "language": row.subject.language,
                "operation": row.operation,
                "us": row.us,
                "us_low": row.low,
                "us_high": row.high,
                "bytes": self.sizes[row.subject].plain,
                "gzip_bytes": self.sizes[row.subject].gzip,
            }
            for row in self.rows
        ]

    def tables(self) -> list[Table]:
        return [self._table(journey) for journey in dict.fromkeys(subject.journey for subject in self.sizes)]

    def _table(self, journey: str) -> Table:
        columns = [
            Column("encoding", numeric=False),
            Column("in", numeric=False),
            Column("bytes"),
            Column("gzip bytes"),
            *(
                Column(operation, "µs", interval=True, spare=int(operation in (GZIP, GUNZIP)))
                for operation in OPERATIONS
            ),
        ]
        times = {(row.subject, row.operation): row for row in self.rows}
        rows: list[list[TableCell]] = []
        for subject, size in self.sizes.items():
            if subject.journey == journey:
                row_times = [times.get((subject, operation)) for operation in OPERATIONS]
                figures = [estimate(row.us, (row.low, row.high)) if row else number(None) for row in row_times]
                where = f"{subject.language} ({subject.library})"
                rows.append([words(subject.encoding), words(where), whole(size.plain), whole(size.gzip), *figures])
        return Table(journey, f"{journey}: CPU time per answer, µs, with 95 % intervals", columns, rows, heads=2)


def bench(
    answers: Mapping[str, Any], go: GoHalf, *, rounds: int, seconds: float, seed: int, say: Callable[[str], None]
) -> Result:
    """Measures every operation on every answer in every encoding, in both languages, for about these seconds."""
    cells: list[Cell] = []
    sizes: dict[Subject, Size] = {}
    for subject, size, of_subject in (*python_cells(answers), *go.cells()):
        sizes[subject] = size
        cells += of_subject
    return Result(sizes, measure_rounds(cells, rounds=rounds, seconds=seconds, seed=seed, say=say))
