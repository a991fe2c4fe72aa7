"""HTTP below REST and GraphQL: the server, its health checks, the body of a request, how an answer is compressed."""
