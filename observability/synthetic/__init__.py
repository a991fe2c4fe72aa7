"""A synthetic shop, and the traces, runs and experiments that are drawn from it; their truth is known."""
