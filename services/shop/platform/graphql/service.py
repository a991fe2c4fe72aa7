"""A service's use cases over GraphQL: for gateways and other services, never for clients from outside."""

from __future__ import annotations

from typing import Generic, TypeVar

from shop.contract.calls import Access
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.schema import RequestContext, Schema
from shop.platform.incoming import Incoming

S = TypeVar("S")


class ServiceContext(RequestContext, Generic[S]):
    """One request to a service."""

    __slots__ = ("service",)

    def __init__(self, service: S) -> None:
        self.service = service


def graphql_app(schema: Schema, service: S, incoming: Incoming) -> Endpoint:
    """Returns a service's GraphQL application.

    Args:
        schema: The service's schema.
        service: The service's use cases; the resolvers' `info.context.service`.
        incoming: Answers requests, and refuses what comes through the edge, which leads clients to the gateway only.
    """
    authenticator = incoming.authenticator

    def context(headers: dict[bytes, bytes]) -> ServiceContext[S]:
        authenticator.admit(Access.INTERNAL, None, authenticator.origin_of(headers))
        return ServiceContext(service)

    return Endpoint(schema, context, incoming)
