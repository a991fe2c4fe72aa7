"""What a report is made of: text, lists, tables, charts, and how a figure reads.

A module of `hops.tables` makes elements from a summary; the page, Markdown, CSV and the terminal each know how to write
every kind, so that none of them says a figure in other words than the others.
"""
