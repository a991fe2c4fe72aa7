"""The tables and sentences of traces of any system, made once for the terminal, Markdown and the page."""
