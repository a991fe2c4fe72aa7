"""The report of a sweep or a stress test, as `report.md`."""

from __future__ import annotations

from pathlib import Path

from experiment.capacity_files import Document


def write_report(document: Document, folder: Path) -> None:
    """Writes the report into the folder of the results."""
    (folder / "report.md").write_text(f"# {document['name']}\n", encoding="utf-8")
