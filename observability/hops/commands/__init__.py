"""The commands of `hopwise` for traces and runs."""
