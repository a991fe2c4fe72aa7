"""The report of a run: `report.html` for people, `report.md` and `csv/` for papers, all from the same tables.

`table` and `numbers` say how a figure reads, `palette` and `chart` how it is drawn. A module per section makes tables
and charts from the summary and the rows; `sections` puts them in order, `write` makes the files of them.
"""

from hops.report.write import write_report

__all__ = ["write_report"]
