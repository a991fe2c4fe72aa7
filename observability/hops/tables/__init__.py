"""The tables and sentences made from a summary: the report has all of them, the terminal a selection."""
