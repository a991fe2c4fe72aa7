"""Loading topologies step by step: how much load they hold."""
