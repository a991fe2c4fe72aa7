"""Faults in a running topology, and their effect on the topology's customers and data."""
