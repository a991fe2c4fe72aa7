"""The catalogue over GraphQL, by the table of calls."""

from __future__ import annotations

from functools import partial

from shop.clients.ports import ProductClient
from shop.contract.calls import PRODUCT
from shop.platform.graphql.service import graphql_app

build_app = partial(graphql_app, PRODUCT, ProductClient)
