"""A service's store, and its connections to PostgreSQL."""
