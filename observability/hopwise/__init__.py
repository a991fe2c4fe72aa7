"""The command `hopwise`, which imports nothing of a command before that command is chosen."""
