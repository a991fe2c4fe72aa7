"""The command `hopwise`, which imports each of its commands only when that command is chosen."""
