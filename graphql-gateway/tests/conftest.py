"""A gateway over a shop in memory."""

from graphql_gateways import *  # noqa: F403 - the fixtures
