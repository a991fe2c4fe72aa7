"""How much load topologies hold: sweeps over rates, and stress tests with more and more users."""
