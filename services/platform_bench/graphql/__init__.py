"""The GraphQL gateway beside graphql-core, both in one process: neither a network nor a service is in the figures."""
