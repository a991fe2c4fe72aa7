"""The parts of every system, natively or in a cluster: database, trace store, and the shop's processes."""
