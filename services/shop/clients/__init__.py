"""The services as their callers see them: ports, and the adapters of these ports for each protocol."""
