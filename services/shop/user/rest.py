"""The accounts over REST: the same resources as in a gateway, from `shop.resources.users`."""

from __future__ import annotations

from fastapi import FastAPI

from shop.platform.incoming import Incoming
from shop.platform.rest.app import add_docs
from shop.resources.service_api import service_api
from shop.resources.users import add_users
from shop.user.service import UserService

TAGS = {"users": "Customers: each sees only itself, partners see all.", "sessions": "Logins of customers."}


def build_app(service: UserService, incoming: Incoming) -> FastAPI:
    api = service_api("user", "Customers and their logins", TAGS, incoming)
    add_users(api, service)
    add_docs(api)
    return api
