"""The tables and sentences of any system's traces, made once for the terminal, Markdown and the page."""
