"""The GraphQL gateway: one schema for all services, which the gateway calls over any protocol."""
