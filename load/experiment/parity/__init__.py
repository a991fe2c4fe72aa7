"""Checks whether the answers of all topologies match the data."""
