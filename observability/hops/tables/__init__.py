"""The tables and sentences of a summary, made once: the report has all of them, the terminal those that fit there."""
