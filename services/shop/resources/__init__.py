"""The resources of the REST APIs, defined once for services that serve, gateways that pass on and clients that read."""
