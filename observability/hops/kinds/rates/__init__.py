"""The effect of load: topologies at several rates."""
