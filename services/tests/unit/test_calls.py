"""The table of calls is whole: every call has a rule, a use case and a port, and nothing is served that it lacks."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, get_type_hints

import pytest
from fastapi import FastAPI

from memory_shop import MemoryShop
from rest_gateway.app import build_app
from shop.clients.ports import Clients, Orders
from shop.contract.calls import SERVICES, Access, Service, call_of
from shop.platform.access.rules import Authenticator, NoVerifier, access_of
from shop.platform.access.streams import Streams
from shop.platform.rest.operations import ACCESS_KEY

ADMITTING = Authenticator(NoVerifier())
CALLS = [call for service in SERVICES for call in service.calls]
OWNERS = re.compile(r"request(\.user)?\.(user_)?id|response(\.[a-z_]+)?\.user_id|GetOrder\.user_id|")


def adapter(service: Service, protocol: str) -> Any:
    return importlib.import_module(f"shop.{service.name}.{protocol}")


def use_cases(service: Service) -> Any:
    name = service.full_name.rpartition(".")[2]
    return getattr(importlib.import_module(f"shop.{service.name}.service"), name)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_call_is_a_use_case_and_every_method_of_a_port_is_a_call(service: Service) -> None:
    ports = methods(get_type_hints(Clients)[service.name])
    served = methods(use_cases(service))
    assert {call.port for call in service.calls} == served
    assert ports <= served


def methods(of: type) -> set[str]:
    return {name for name, member in inspect.getmembers(of, inspect.isfunction) if name[0] != "_"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_a_customer_makes_calls_that_concern_a_user_only_with_a_token(call: Any) -> None:
    assert OWNERS.fullmatch(call.owner), call.owner
    assert not call.owner or call.access is Access.CALLER


def test_a_method_of_a_port_leads_to_its_row() -> None:
    assert call_of(Orders.cancel_order).name == "CancelOrder"
    with pytest.raises(KeyError):
        call_of(test_a_method_of_a_port_leads_to_its_row)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_grpc_and_thrift_admit_whom_the_rows_admit(service: Service) -> None:
    name = service.full_name.rpartition(".")[2]
    servicer = getattr(adapter(service, "grpc"), f"{name.removesuffix('Service')}Servicer")
    assert {call.name: access_of(getattr(servicer, call.name)) for call in service.calls} == {
        call.name: call.access for call in service.calls
    }
    if service.name != "notification":
        rows = adapter(service, "thrift").processor(None)._methods
        assert {name: method.access for name, (method, *_) in rows.items()} == {
            call.name: call.access for call in service.calls if call.name != "StreamDocument"
        }


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_rest_serves_the_routes_of_the_rows_and_admits_whom_they_admit(service: Service) -> None:
    app: FastAPI = adapter(service, "rest").build_app(None, ADMITTING)
    rows = {(call.rest, call.access.value) for call in service.calls if call.rest}
    assert served_by(app) == rows


def test_the_rest_gateway_serves_routes_of_the_rows_and_admits_whom_they_admit() -> None:
    routes = served_by(build_app(MemoryShop().clients, ADMITTING, streams=Streams()))
    assert routes <= {(call.rest, call.access.value) for call in CALLS}
    assert routes


def served_by(app: FastAPI) -> set[tuple[str, str]]:
    return {
        (f"{method.upper()} {path}", operation[ACCESS_KEY])
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    }
