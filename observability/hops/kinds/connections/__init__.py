"""How much memory components use while clients hold connections open."""
