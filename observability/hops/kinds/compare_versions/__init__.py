"""Two versions of the shop in the same blocks."""
