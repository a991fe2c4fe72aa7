"""The kinds of experiments: the arms and the command of each in one place. Their settings are in `commands.toml`."""
