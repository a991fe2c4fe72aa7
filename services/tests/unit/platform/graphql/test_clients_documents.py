"""The documents of GraphQL clients, which are generated from the ports, fit the services' schemas."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import parse, validate

from shop.clients.graphql_documents import CallDocument
from shop.contract.calls import SERVICES, Service
from shop.contract.signatures import PortMethod, methods_of
from shop.platform.graphql.limits import check_length, check_shape
from shop.platform.graphql.schema import core_schema
from shop.platform.graphql.service import schema_of


@pytest.mark.parametrize(
    ("service", "method"),
    [pytest.param(service, method, id=method.name) for service in SERVICES for method in methods_of(service)],
)
def test_every_document_is_valid_for_the_schema_of_its_service(
    service: Service[Any], method: PortMethod[..., object]
) -> None:
    schema = core_schema(schema_of(service))
    text = CallDocument(method).text
    document = parse(text)
    assert validate(schema, document) == []
    check_length(text)
    check_shape(document)
