"""The GraphQL gateway stands for every GraphQL server of the platform."""

from graphql_gateways import *  # noqa: F403 - the fixtures
