"""The resources of the REST APIs, which services serve, gateways pass on and clients read: one definition for all."""
