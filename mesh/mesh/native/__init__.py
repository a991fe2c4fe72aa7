"""A topology, or Jaeger alone, as processes of this machine."""
