"""What is done to a running topology, and how its customers and its data come through."""
