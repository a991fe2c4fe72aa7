"""Which topology to choose for given customers."""
