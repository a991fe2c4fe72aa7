"""Notifications over GraphQL, by the table of calls."""

from __future__ import annotations

from functools import partial

from shop.clients.ports import NotificationClient
from shop.contract.calls import NOTIFICATION
from shop.platform.graphql.service import graphql_app

build_app = partial(graphql_app, NOTIFICATION, NotificationClient)
