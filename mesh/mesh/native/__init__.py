"""A topology, Jaeger alone or PostgreSQL alone, as processes on this machine."""
