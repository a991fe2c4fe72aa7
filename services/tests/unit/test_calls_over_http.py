"""What clients over HTTP derive from the ports is what the services serve."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
from fastapi.routing import APIRoute
from graphql import parse, validate

from shop.clients.graphql.documents import Document
from shop.clients.methods import Method, methods_of
from shop.clients.ports import PORTS
from shop.contract.calls import SERVICES, Service
from shop.platform.access.rules import Authenticator, NoVerifier
from shop.platform.graphql.internals import core_schema
from shop.platform.graphql.limits import check_length, check_shape
from shop.platform.graphql.schema import Schema
from shop.platform.incoming import Incoming

CALLS = [pytest.param(service, method, id=method.name) for service in SERVICES for method in methods_of(service)]


def adapter(service: Service, protocol: str) -> Any:
    return importlib.import_module(f"shop.{service.name}.{protocol}")


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_method_of_a_port_is_a_call(service: Service) -> None:
    port = PORTS[service.name]
    methods = {name for name in dir(port) if not name.startswith("_")}
    assert {method.name for method in methods_of(service)} == methods


@pytest.mark.parametrize(("service", "method"), CALLS)
def test_every_document_is_valid_for_the_schema_of_its_service(service: Service, method: Method) -> None:
    served = adapter(service, "graphql")
    subscription = getattr(served, "Subscription", None)
    schema = core_schema(Schema(served.Query, served.Mutation, subscription))
    text = Document(method).text
    document = parse(text)
    assert validate(schema, document) == []
    check_length(text)
    check_shape(document)


@pytest.mark.parametrize(("service", "method"), CALLS)
def test_every_route_is_one_of_its_service(service: Service, method: Method) -> None:
    api = adapter(service, "rest").build_app(None, Incoming(Authenticator(NoVerifier())))
    routes = {
        f"{verb} {re.sub(':name}', '}', route.path)}"
        for route in api.routes
        if isinstance(route, APIRoute)
        for verb in route.methods
    }
    assert method.contract.rest in routes
