"""A run in a cluster, and what the cluster says about it."""
