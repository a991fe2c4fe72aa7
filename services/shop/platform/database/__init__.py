"""Where a service keeps its data, and its connections to PostgreSQL."""
