"""What every system consists of, wherever it runs: database, trace store, and the shop's own processes."""
