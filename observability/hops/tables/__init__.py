"""The tables and sentences of a summary, made once for the report and the terminal."""
