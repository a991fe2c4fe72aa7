"""Both ends of a call agree on its messages: arguments, values, and arguments that do not fit their fields."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Unpack, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shop.contract.calls import ORDER, PAYMENT, PRODUCT, SERVICES, USER, Call, Service
from shop.contract.ports import Page, StreamedDocuments
from shop.contract.wire import Codec, protobuf_codec, requests, thrift_codec
from shop.errors import InvalidArgument
from shop.money import Money
from shop.platform.thrift.encoding import COMPACT, REPLY, complete, encode_message, open_message
from shop.values.order import CheckoutLine, OrderStatus
from shop.values.product import Product
from shop.values.user import Address, User

SCALARS = {
    int: st.integers(1, 2**31 - 1),
    str: st.text(st.characters(codec="utf-8"), max_size=5),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    datetime: st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)).map(
        lambda at: at.replace(microsecond=0, tzinfo=UTC)
    ),
}
THRIFT = [service for service in SERVICES if service.name != "notification"]


def any_of(hint: Any) -> st.SearchStrategy[Any]:
    """Generates values of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return any_of(inner[0])
    if type(None) in inner:
        return st.one_of(*(st.none() if each is type(None) else any_of(each) for each in inner))
    if origin is tuple:
        return st.lists(any_of(inner[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(any_of(inner[0]), st.lists(any_of(get_args(inner[1])[0]), max_size=3).map(tuple))
    if origin is Page:
        return st.builds(Page, any_of(tuple[inner[0], ...]), any_of(str))  # type: ignore[valid-type]
    if origin is AsyncGenerator:
        return any_of(inner[0])
    if origin in (Sequence, list, AsyncIterator):
        return st.lists(any_of(inner[0]), max_size=3)
    if hint is type(None):
        return st.none()
    if hint in SCALARS:
        return SCALARS[hint]
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    return st.builds(hint, *map(any_of, get_type_hints(hint, include_extras=True).values()))


def row(service: Service[Any], name: str) -> Call[..., object]:
    return next(call for call in service.calls if call.name == name)


def port(service: Service[Any], call: Call[..., object]) -> Callable[..., Any]:
    return getattr(service.port, call.port, None) or getattr(StreamedDocuments, call.port)  # type: ignore[no-any-return]


@st.composite
def arguments(draw: Any, method: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a port's method; for an update, at least one change."""
    hints = get_type_hints(method, include_extras=True)
    given_: tuple[list[Any], dict[str, Any]] = ([], {})
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        hint = hints[name]
        if get_origin(hint) is Unpack:
            fields = get_type_hints(get_args(hint)[0])
            given_[1].update({key: draw(any_of(of)) for key, of in fields.items()} | {"stock": draw(any_of(int))})
        elif parameter.kind is parameter.KEYWORD_ONLY:
            given_[1][name] = draw(any_of(str if (name, method.__name__) == ("name", "update_user") else hint))
        else:
            given_[0].append(draw(any_of(hint)))
    return given_


def over_protobuf(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


def over_thrift(message: Any) -> Any:
    _, _, _, protocol = open_message(COMPACT, encode_message(COMPACT, "call", REPLY, 1, message))
    read = type(message)()
    read.read(protocol)
    return read


def check(
    service: Service[Any],
    call: Call[..., object],
    codec: Codec[..., Any],
    send: Callable[[Any], Any],
    make: Callable[..., Any],
    take: Callable[[Any], Any] = lambda request: request,
) -> None:
    method = port(service, call)
    hint = get_type_hints(method, include_extras=True)["return"]

    @settings(max_examples=5, deadline=None)
    @given(arguments(method), any_of(hint))
    def run(given_: tuple[list[Any], dict[str, Any]], value: Any) -> None:
        args, kwargs = given_
        arrived = codec.call(lambda *a, **k: (list(a), k), take(send(make(*args, **kwargs))))
        bound = inspect.signature(codec.request).bind(*args, **kwargs)
        assert inspect.signature(codec.request).bind(*arrived[0], **arrived[1]).arguments == bound.arguments
        if codec.answer is not None:
            answered = codec.value(send(codec.answer(value)))
            assert (list(answered) if get_origin(hint) is AsyncIterator else answered) == value

    run()


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_arguments_and_values_arrive_over_protobuf(service: Service[Any]) -> None:
    for call in service.calls:
        codec = protobuf_codec(call)
        check(service, call, codec, over_protobuf, requests(codec))


@pytest.mark.parametrize("service", THRIFT, ids=lambda service: service.name)
def test_arguments_and_values_arrive_over_thrift(service: Service[Any]) -> None:
    for call in service.calls:
        if codec := thrift_codec(call):
            check(service, call, codec, over_thrift, codec.request, complete)


WIDE, SURROGATE = 2**63, "\ud800"
LINES = [CheckoutLine(1, 1), CheckoutLine(2, 2), CheckoutLine(3, 2**31)]
ADDRESS = Address("", SURROGATE, "", "", "")
PRODUCT_FIELDS: dict[str, Any] = {"title": "", "description": "", "category": "", "stock": 1}


@pytest.mark.parametrize("protocol", ["protobuf", "thrift"])
@pytest.mark.parametrize(
    ("service", "name", "args", "kwargs", "field"),
    [
        (PRODUCT, "GetProduct", (WIDE,), {}, "id"),
        (PRODUCT, "BatchGetProducts", ([1, WIDE],), {}, "ids"),
        (PRODUCT, "CreateProduct", (), {**PRODUCT_FIELDS, "price": Money(WIDE, "EUR")}, "product.price.amount_minor"),
        (PRODUCT, "UpdateProduct", (1,), {"title": SURROGATE}, "product.title"),
        (PRODUCT, "ReserveStock", (SURROGATE, []), {}, "reservation_id"),
        (USER, "UpdateUser", (1,), {"address": ADDRESS}, "user.address.street"),
        (PAYMENT, "CapturePayment", (), {"checkout_id": "", "order_id": -WIDE - 1}, "order_id"),
        (
            ORDER,
            "Checkout",
            (),
            {"user_id": 1, "lines": LINES, "payment_token": "", "idempotency_key": ""},
            "lines[2].quantity",
        ),
    ],
)
def test_an_argument_that_does_not_fit_its_field_is_named(
    protocol: str, service: Service[Any], name: str, args: Any, kwargs: Any, field: str
) -> None:
    def make() -> Any:
        if protocol == "protobuf":
            return requests(protobuf_codec(row(service, name)))(*args, **kwargs)
        return complete(thrift_codec(row(service, name)).request(*args, **kwargs))  # type: ignore[union-attr]

    with pytest.raises(InvalidArgument, match="is out of range") as raised:
        make()
    assert raised.value.field == field
    assert raised.value.message == f"{field} is out of range"


@pytest.mark.parametrize("mask", [[], ["id"], ["title", "rating"]])
def test_a_mask_names_fields_that_may_change(mask: list[str]) -> None:
    codec = protobuf_codec(row(PRODUCT, "UpdateProduct"))
    request = codec.request(1, title="new")
    request.update_mask.paths[:] = mask
    with pytest.raises(InvalidArgument, match="update_mask must name at least one of: title, description, category"):
        codec.call(dict, request)


@pytest.mark.parametrize("codec_of", [protobuf_codec, thrift_codec])
def test_a_status_that_the_contract_does_not_know_is_one_that_no_order_is_moved_to(codec_of: Any) -> None:
    codec = codec_of(row(ORDER, "UpdateOrderStatus"))
    request = codec.request(1, OrderStatus.SHIPPED)
    request.status = 99
    assert codec.call(lambda _, status: status, request) is OrderStatus.PENDING


@pytest.mark.parametrize(
    ("codec_of", "arrive"), [(protobuf_codec, over_protobuf), (thrift_codec, lambda sent: complete(over_thrift(sent)))]
)
@pytest.mark.parametrize(
    ("service", "name", "expected"),
    [
        (PRODUCT, "DeleteProduct", Product(0, "as it was read", "", "", Money(0, ""), 0)),
        (USER, "DeleteUser", User(0, "ada@example.com", "", Address("", "", "", "", ""))),
    ],
)
def test_an_expected_resource_without_an_id_is_still_a_condition(
    codec_of: Any, arrive: Any, service: Service[Any], name: str, expected: Any
) -> None:
    codec = codec_of(row(service, name))
    request = arrive(codec.request(17, expected=expected))
    assert codec.call(lambda _, expected: expected, request) == expected
