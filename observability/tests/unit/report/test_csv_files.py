"""The CSV files of a report: one for each table, even if two tables have like names."""

from __future__ import annotations

from pathlib import Path

from hops.elements.element import Fold, Section
from hops.elements.table import Column, Table, whole
from hops.report.csv_files import write_csv_files


def test_tables_with_like_names_have_a_file_each(tmp_path: Path) -> None:
    names = ["budget_parts_Get-a", "budget_parts_get_a", "budget_parts_get_a_2", "latency"]
    tables = [Table(name, name, [Column("traces")], [[whole(at)]]) for at, name in enumerate(names)]
    sections = [Section("budgets", "", [Fold("", tables[:2]), tables[2]]), Section("latency", "", tables[3:])]
    written = write_csv_files(sections, tmp_path / "csv")
    stems = ["budget_parts_get_a", "budget_parts_get_a_2", "budget_parts_get_a_2_2", "latency"]
    assert [file.stem for file in written] == stems
    assert [file.read_text(encoding="utf-8") for file in written] == [f"traces\n{at}\n" for at in range(4)]


def test_columns_with_one_name_are_numbered(tmp_path: Path) -> None:
    table = Table("both", "", [Column("p50", "ms"), Column("p50 (ms)")], [[whole(1), whole(2)]])
    (file,) = write_csv_files([Section("latency", "", [table])], tmp_path / "csv")
    assert file.read_text(encoding="utf-8") == "p50_ms,p50_ms_2\n1,2\n"


def test_files_of_tables_that_are_gone_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    both = [Table(name, name, [Column("traces")], [[whole(1)]]) for name in ("budget", "latency")]
    write_csv_files([Section("all", "", both)], folder)
    (folder / "notes.txt").touch()
    (latency,) = write_csv_files([Section("all", "", both[1:])], folder)
    assert sorted(folder.iterdir()) == [latency, folder / "notes.txt"]
