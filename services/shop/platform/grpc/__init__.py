"""gRPC: servers and channels with health, traces, deadlines and rich errors."""
