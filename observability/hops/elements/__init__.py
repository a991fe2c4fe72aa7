"""The elements of a report: text, lists, tables, charts, and how a figure reads.

A module of `hops.tables` makes elements from a summary. The page, Markdown, CSV and the terminal can each write every
kind of element, so that all of them give a figure in the same words.
"""
