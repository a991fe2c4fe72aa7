"""Logins: `/v1/sessions`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from rest_gateway.answers import Answer, encode
from rest_gateway.auth import Access
from rest_gateway.caching import NO_STORE
from rest_gateway.models import users as models
from rest_gateway.operations import creating
from shop.clients import Clients


def add_sessions(api: FastAPI, shop: Clients) -> None:
    """Declares the route of logins.

    Args:
        api: Where to declare it.
        shop: The services.
    """

    @api.post(
        "/v1/sessions",
        **creating("sessions", models.Session, access=Access.EVERYBODY, problems=[401], located=False),
    )
    async def create_session(credentials: models.Credentials) -> Response:
        """Logs a user in: checks e-mail and password and gives a token for one hour."""
        login = await shop.user.login(credentials.email, credentials.password)
        return Answer(201, encode(login), [NO_STORE])
