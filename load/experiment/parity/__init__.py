"""Whether all topologies answer as the data says."""
