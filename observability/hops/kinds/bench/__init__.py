"""One topology."""
