"""A service's use cases over GraphQL: for gateways and other services, never for clients from outside."""

from __future__ import annotations

from typing import Generic, TypeVar

from shop.platform.access.rules import Access, Authenticator
from shop.platform.graphql.endpoint import ROUTE, Endpoint
from shop.platform.graphql.schema import RequestContext, Schema
from shop.platform.graphql.tracing import App, Traced

S = TypeVar("S")


class ServiceContext(RequestContext, Generic[S]):
    """One request to a service."""

    __slots__ = ("service",)

    def __init__(self, service: S) -> None:
        self.service = service


def graphql_app(schema: Schema, service: S, authenticator: Authenticator) -> App:
    """Returns a service's GraphQL application.

    Args:
        schema: The service's schema.
        service: The service's use cases; the resolvers' `info.context.service`.
        authenticator: Refuses whatever comes through the edge, which leads clients to the gateway only.
    """

    def context(headers: dict[bytes, bytes]) -> ServiceContext[S]:
        authenticator.admit(Access.INTERNAL, None, authenticator.origin_of(headers))
        return ServiceContext(service)

    return Traced(Endpoint(schema, context), ROUTE)
