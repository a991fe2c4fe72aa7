"""One trial: a fresh system, the load, and its rows."""
