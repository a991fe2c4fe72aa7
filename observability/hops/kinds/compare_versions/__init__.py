"""Two versions of the shop, side by side in the same blocks."""
