"""HTTP below REST and GraphQL: the server, the body of a request, the compression of an answer."""
