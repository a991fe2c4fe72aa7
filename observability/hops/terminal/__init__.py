"""Results on a terminal: the elements of the report, as many as fit there."""
