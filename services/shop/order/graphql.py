"""Orders over GraphQL, by the table of calls."""

from __future__ import annotations

from functools import partial

from shop.clients.ports import OrderClient
from shop.contract.calls import ORDER
from shop.platform.graphql.service import graphql_app

build_app = partial(graphql_app, ORDER, OrderClient)
