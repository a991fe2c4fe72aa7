"""The GraphQL gateway stands for what the platform serves over GraphQL."""

from graphql_gateways import *  # noqa: F403 - the fixtures
