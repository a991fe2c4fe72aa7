"""What load does: topologies at several rates."""
