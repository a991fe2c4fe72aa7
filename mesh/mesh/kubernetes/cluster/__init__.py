"""A run in a cluster, and the cluster's information about it."""
