"""The tables and sentences about any system's traces, for the terminal, Markdown and the page."""
