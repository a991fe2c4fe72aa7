"""Starts the gateway."""

from __future__ import annotations

import sys

from starlette.types import ASGIApp

from graphql_gateway.app import build_app
from shop.clients.gateway_process import serve_gateway
from shop.contract.ports import Clients
from shop.platform.access.streams import Streams
from shop.platform.config import ServiceConfig
from shop.platform.graphql.graphiql import GraphiQL
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import Runtime

SWITCH_S = 0.0001
"""How long the event loop waits for the interpreter lock while another thread prepares a document, in seconds. The wait
occurs each time that the loop has something to do; Python's default is 50 times as long."""
FIRST_QUERY = """\
# Ctrl+Enter sends it. Everybody may ask for products.
# To ask as a customer, log in:
#   mutation { login(input: {email: "user1@example.com", password: "hopwise-demo"}) { token } }
# Then put the token among the headers below: {"authorization": "Bearer TOKEN"}
{
  products(first: 3) {
    edges {
      node {
        id
        title
        price { amountMinor currency }
        reviews(first: 1) { rating title author { name } }
      }
    }
  }
}
"""
"""GraphiQL's first query."""


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    sys.setswitchinterval(SWITCH_S)

    def build(clients: Clients, incoming: Incoming, streams: Streams | None) -> ASGIApp:
        endpoint = build_app(clients, incoming, loaders=config.graphql_loaders, streams=streams)
        return endpoint if config.graphiql is None else GraphiQL(endpoint, config.graphiql, FIRST_QUERY)

    await serve_gateway(config, runtime, build, sockets=True)
