"""The report of a run: `report.html` for people, a short `report.md`, and `csv/` for papers, from the same tables.

`hops.elements` defines how a figure is formatted; `palette`, `encodings` and `chart` define how it is drawn. Each
module of `sections` makes a section from the tables of `hops.tables`, with charts and tables that only the report has.
`contents` orders the sections, and `write` makes the files.
"""

from hops.report.write import write_report

__all__ = ["write_report"]
