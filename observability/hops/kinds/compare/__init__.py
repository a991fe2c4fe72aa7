"""Several topologies under one load."""
