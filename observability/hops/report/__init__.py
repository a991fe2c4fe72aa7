"""The report of a run: `report.html` for people, `report.md` in short, `csv/` for papers, all from the same tables.

`hops.elements` says how a figure reads; `palette`, `encodings` and `chart` say how it is drawn. Each module of
`sections` adds charts, and tables that only the report has, to those of `hops.tables`. `contents` orders the sections,
and `write` makes the files.
"""

from hops.report.write import write_report

__all__ = ["write_report"]
