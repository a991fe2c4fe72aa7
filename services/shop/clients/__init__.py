"""The services as their callers see them: ports, and their adapters over each protocol."""
