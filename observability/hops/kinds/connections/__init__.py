"""How much memory components have while clients hold connections open."""
