"""The kinds of experiments: each module makes the arms and defines the command of one kind.

The commands' settings are in `commands.toml`.
"""
