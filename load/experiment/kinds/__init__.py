"""The kinds of experiments: each module makes the arms and defines the command of one kind.

The commands' settings and help are in `commands.toml`.
"""
