"""The table of calls is complete: every call has a rule, a use case and a port, and no other call is served."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from fastapi import FastAPI

from memory_shop import MemoryShop
from rest_gateway.app import build_app
from shop.contract.calls import SERVICES, Access, Service, call_of
from shop.contract.ports import Orders
from shop.contract.wire import protobuf_codec, thrift_codec, thrift_stubs
from shop.platform.access.owners import USER_ID
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import ACCESS_KEY

ADMITTING = Incoming(Authenticator(None))
CALLS = [call for service in SERVICES for call in service.calls]
OWNERS = re.compile(r"request(\.user)?\.(user_)?id|response(\.[a-z_]+)?\.user_id|GetOrder\.user_id|")


def adapter(service: Service, protocol: str) -> Any:
    return importlib.import_module(f"shop.{service.name}.{protocol}")


def use_cases(service: Service[Any]) -> Any:
    name = service.full_name.rpartition(".")[2]
    return getattr(importlib.import_module(f"shop.{service.name}.service"), name)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_call_is_a_use_case_and_every_method_of_a_port_is_a_call(service: Service[Any]) -> None:
    ports = methods(service.port)
    served = methods(use_cases(service))
    assert {call.port for call in service.calls} == served
    assert ports <= served


def methods(of: type) -> set[str]:
    return {name for name, member in inspect.getmembers(of, inspect.isfunction) if name[0] != "_"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_a_customer_makes_calls_that_concern_a_user_only_with_a_token(call: Any) -> None:
    assert OWNERS.fullmatch(call.owner), call.owner
    assert not call.owner or call.access is Access.CALLER


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_the_user_concerned_is_an_argument_of_this_name(service: Service[Any]) -> None:
    for call in service.calls:
        if call.owner.startswith("request."):
            codec = protobuf_codec(call)
            assert codec.moved.get(USER_ID, USER_ID) == call.owner.removeprefix("request."), call.name
            assert next(iter(inspect.signature(codec.request).parameters)) == USER_ID, call.name


def test_a_method_of_a_port_leads_to_its_row() -> None:
    assert call_of(Orders.cancel_order).name == "CancelOrder"
    with pytest.raises(KeyError):
        call_of(test_a_method_of_a_port_leads_to_its_row)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_call_has_messages_and_thrift_has_no_other_calls(service: Service[Any]) -> None:
    calls = [call.name for call in service.calls]
    assert all(map(protobuf_codec, service.calls))
    if service.name != "notification":
        in_thrift = {name.removesuffix("_args") for name in vars(thrift_stubs(service)) if name.endswith("_args")}
        assert (
            {call.name for call in service.calls if thrift_codec(call)} == in_thrift == set(calls) - {"StreamDocument"}
        )


def test_calls_of_the_shop_itself_are_closed_to_clients() -> None:
    assert {call.name for call in CALLS if call.access is Access.INTERNAL} == {
        *("ReserveStock", "ConfirmReservation", "ReleaseReservation"),
        *("AuthorizePayment", "CapturePayment", "VoidPayment"),
        "Notify",
    }


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_rest_serves_the_routes_of_the_rows_with_their_access(service: Service[Any]) -> None:
    app: FastAPI = adapter(service, "rest").build_app(None, ADMITTING)
    rows = {(call.rest.partition("?")[0], call.access.value) for call in service.calls if call.rest}
    assert served_by(app) == rows


def test_the_rest_gateway_serves_routes_of_the_rows_with_their_access() -> None:
    routes = served_by(build_app(MemoryShop().clients, ADMITTING, streams=Streams()))
    assert routes <= {(call.rest, call.access.value) for call in CALLS}
    assert routes


def served_by(app: FastAPI) -> set[tuple[str, str]]:
    return {
        (f"{method.upper()} {path}", operation[ACCESS_KEY])
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    }
