"""A synthetic shop, and traces, runs and experiments drawn from it, whose truth is known."""
