"""The command `hopwise`, which imports a command only when it is chosen."""
