"""What the platform adds to a call: services and gateways beside bare frameworks that do the same work."""
