"""HTTP below REST and GraphQL: the server, its health checks, request bodies, and compression."""
