"""The elements of a report: text, lists, tables, charts, and the format of figures.

The modules of `hops.tables` make elements from a summary. The page, Markdown, CSV and the terminal write the same
elements, so that all of them give a figure in the same words.
"""
