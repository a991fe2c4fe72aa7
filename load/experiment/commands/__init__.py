"""The commands of `python -m experiment`, a module for each."""
