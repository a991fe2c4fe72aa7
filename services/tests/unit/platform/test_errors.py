"""The one table of errors is complete; errors over gRPC without its details, or with details that do not fit."""

from __future__ import annotations

import grpc
import pytest

from shop import errors
from shop.errors import ErrorCode, ShopError
from shop.platform.error_codes import ERROR_TABLE, error_for_code
from shop.platform.grpc.status import restore, status_of


def test_table_has_every_code_and_every_class() -> None:
    classes = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, ShopError)}
    assert set(ERROR_TABLE) == set(ErrorCode)
    assert {entry.error for entry in ERROR_TABLE.values()} == classes - {ShopError}


def test_grpc_carries_when_the_call_may_work() -> None:
    for retry_s in (1, 300):
        sent = errors.TooManyRequests("Come again", retry_after_s=retry_s)
        assert restore(receive(status_of(sent)), "user").retry_after_s == retry_s


@pytest.mark.parametrize("code", ErrorCode)
def test_http_problem_has_a_status_of_an_error_a_title_and_a_type(code: ErrorCode) -> None:
    entry = ERROR_TABLE[code]
    assert 400 <= entry.http < 600
    assert entry.title
    assert entry.problem_type == f"https://hopwise.invalid/problems/{code.value.lower().replace('_', '-')}"
    # Only faults of the server are 5xx, in both HTTP and gRPC.
    assert (entry.http >= 500) == (entry.grpc in {"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED"})


def test_subclass_maps_to_a_status_of_its_parents_kind() -> None:
    for entry in ERROR_TABLE.values():
        for parent in entry.error.__mro__[1:]:
            if issubclass(parent, ShopError) and parent is not ShopError:
                assert ERROR_TABLE[parent.code].grpc == entry.grpc


def test_unknown_code_becomes_internal_without_its_message() -> None:
    error = error_for_code("NEW_CODE", "secret")
    assert type(error) is errors.Internal
    assert error.message == "internal error"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors.Unavailable),
        (grpc.StatusCode.CANCELLED, errors.Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded),
        (grpc.StatusCode.NOT_FOUND, errors.NotFound),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.ResourceExhausted),
        (grpc.StatusCode.INTERNAL, errors.Internal),
        (grpc.StatusCode.UNKNOWN, errors.Internal),
        (grpc.StatusCode.UNIMPLEMENTED, errors.Internal),
    ],
)
def test_status_without_details_still_gives_an_error(status: grpc.StatusCode, expected: type[ShopError]) -> None:
    error = restore(grpc.aio.AioRpcError(status, None, grpc.aio.Metadata(), "ipv4:127.0.0.1:1 refused"), "product")
    assert type(error) is expected
    if expected in (errors.Unavailable, errors.Internal):
        assert "127.0.0.1" not in error.message


def test_details_that_do_not_fit_their_status_are_ignored() -> None:
    status = status_of(errors.NotFound("none"))
    forged = grpc.aio.AioRpcError(
        grpc.StatusCode.UNAVAILABLE, None, grpc.aio.Metadata(*status.trailing_metadata), "none"
    )
    assert type(restore(forged, "product")) is errors.Unavailable


def receive(status: grpc.Status) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(status.code, None, grpc.aio.Metadata(*status.trailing_metadata), status.details)
