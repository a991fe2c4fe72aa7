"""One trial: a fresh system, the load, and what it left."""
