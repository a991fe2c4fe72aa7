"""The tables and sentences of a summary, made once: the report has all of them, the terminal a selection."""
