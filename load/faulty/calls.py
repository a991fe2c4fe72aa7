"""Faults that any component may have in how it handles calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health
from grpc_status import rpc_status
from opentelemetry.trace import StatusCode

from faulty.seeds import Fault, Seed, change_arguments, replace, set_constant
from recording import injected_delay
from recording.account import SpanAccount
from recording.lean.recorder import RecordedSpan
from shop.platform.access.identity import trust_domain
from shop.platform.deadline import DEFAULT_S, caller_timeout_s

set_attribute, write = RecordedSpan.set_attribute, SpanAccount.write


class _NeverRaisedError(DecodeError): ...


def _change_info(change: Callable[[ErrorInfo], None]) -> Seed:
    def change_status(status: Status) -> Status:
        for detail in status.details:
            info = ErrorInfo()
            if detail.Unpack(info):
                change(info)
                detail.Pack(info)
        return status

    return change_arguments(rpc_status.to_status, status=change_status)


def _drop_retry(status: Status) -> Status:
    kept = [detail for detail in status.details if not detail.Is(RetryInfo.DESCRIPTOR)]
    return Status(code=status.code, message=status.message, details=kept)


def _count_nothing(self: SpanAccount, cost_ns: Mapping[str, int] | None = None) -> None:
    self.recorded = 0
    write(self, cost_ns)


def _blame_the_server(self: RecordedSpan, key: str, value: Any) -> None:
    set_attribute(self, key, value)
    if key == "error.type":
        self.set_status(StatusCode.ERROR)


FAULTS = (
    Fault(
        "bytes that are not a message count as the server's fault",
        "bytes_that_are_no_message_are_refused_by_every_method",
        replace(DecodeError, _NeverRaisedError),
    ),
    Fault(
        "errors belong to another domain",
        "errors_have_their_code_and_field",
        _change_info(lambda info: info.MergeFrom(ErrorInfo(domain="shop"))),
    ),
    Fault(
        "errors do not name the field",
        "errors_have_their_code_and_field",
        _change_info(lambda info: info.metadata.clear()),
    ),
    Fault(
        "the health check does not know the service",
        "health_and_reflection_name_the_service",
        change_arguments(health.aio.HealthServicer.set, service=lambda _name: ""),
    ),
    Fault(
        "callers of another trust domain are trusted",
        "with_certificates_the_identity_tells_inside_from_outside",
        replace(trust_domain, lambda identity: "spiffe://"),
    ),
    Fault(
        "spans do not have the requested delay",
        "a_sampled_request_leaves_its_spans_and_an_account",
        set_constant(injected_delay, "ASKED_ATTRIBUTE", "shop.delay_ms"),
    ),
    Fault(
        "the account counts nothing",
        "a_sampled_request_leaves_its_spans_and_an_account",
        replace(SpanAccount.write, _count_nothing),
    ),
    Fault(
        "the caller's mistakes count as errors of the server",
        "a_sampled_request_leaves_its_spans_and_an_account",
        replace(RecordedSpan.set_attribute, _blame_the_server),
    ),
)
IGNORED_EDGE = Fault(
    "the edge's timeout is ignored",
    "work_ends_with_the_time_that_the_edge_waits",
    replace(caller_timeout_s, lambda header: DEFAULT_S),
)
NO_RETRY = Fault(
    "errors do not say when to retry",
    "too_many_requests_get_a_time_to_retry",
    change_arguments(rpc_status.to_status, status=_drop_retry),
)
