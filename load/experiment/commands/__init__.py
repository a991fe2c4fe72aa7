"""The commands of `python -m experiment`, one module per command."""
