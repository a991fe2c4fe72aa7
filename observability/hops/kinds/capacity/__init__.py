"""How much load topologies hold: rates that rise, users that come, peaks that pass."""
