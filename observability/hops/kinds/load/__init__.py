"""A target that is not the shop."""
