"""Wires the gateway's process."""

from __future__ import annotations

import sys

from graphql_gateway.app import build_app
from shop.clients.connect import connect
from shop.platform.access.rules import gateway_authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import CORE, NOTIFICATION, ServiceConfig, required
from shop.platform.graphql.graphiql import GraphiQL
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import Runtime

SWITCH_S = 0.0001
"""How long the event loop waits for the interpreter, each time that it has something to do while a document is prepared
beside it; Python's default is 50 times as much."""
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
"""What GraphiQL opens with."""


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    """Serves until SIGTERM.

    Raises:
        ConfigError: A setting that the gateway needs is missing or wrong.
        StartError: The port is in use.
    """
    sys.setswitchinterval(SWITCH_S)
    listen = required(config.listen_http, "SHOP_LISTEN_HTTP", "127.0.0.1:18010")
    incoming = Incoming(gateway_authenticator(config), runtime)
    for peer in CORE:
        required(config.peers.get(peer), f"SHOP_PEER_{peer.upper()}", "grpc://127.0.0.1:18020")
    async with connect(config.peers, config.component, config.sockets, runtime) as clients:
        streams = Streams() if NOTIFICATION in config.peers else None
        endpoint = build_app(clients, incoming, loaders=config.graphql_loaders, streams=streams)
        app = GraphiQL(endpoint, config.graphiql, FIRST_QUERY)
        sockets = streams is not None
        async with stop_signal() as stop, http_server(app, listen, config.drain_s, sockets=sockets):
            await stop.wait()
            if streams is not None:
                streams.close()
