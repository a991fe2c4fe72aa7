"""How much load topologies hold: rising rates, more users, and peaks."""
