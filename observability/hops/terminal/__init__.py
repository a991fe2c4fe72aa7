"""Results on a terminal: a selection of the report's elements."""
