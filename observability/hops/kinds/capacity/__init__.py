"""How much load topologies can sustain: rising rates, more users, and peaks."""
