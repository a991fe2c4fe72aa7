"""What to run, as users describe it: topology, switches and customers' network; and the addresses of all components."""
