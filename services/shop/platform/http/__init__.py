"""The HTTP that REST and GraphQL share: the server, its health checks, request bodies, and compression."""
