"""Topologies at several distances from their customers."""
