"""Which topology to take, for given customers."""
