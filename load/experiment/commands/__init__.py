"""The commands of `python -m experiment`, one module per command; `commands.toml` has their settings and help."""
