"""What is to run, as users describe it: topology, switches, customers' network, and the places of everything."""
