"""Checks whether all topologies answer as the data says."""
