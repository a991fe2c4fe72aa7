"""Faults in a running topology, and their effect on its customers and data."""
