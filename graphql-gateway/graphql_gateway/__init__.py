"""The GraphQL gateway: one schema over the services, over any protocol."""
