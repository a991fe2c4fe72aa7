"""A synthetic shop, and traces, runs and experiments drawn from it, with known true values."""
