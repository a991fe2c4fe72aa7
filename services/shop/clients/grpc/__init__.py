"""The clients over gRPC."""
