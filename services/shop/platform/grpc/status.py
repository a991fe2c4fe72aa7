"""Errors over gRPC: google.rpc.Status with an ErrorInfo, in the trailing metadata.

ErrorInfo.reason is the error's code, its domain is "hopwise", and its metadata names the field at fault. Where a retry
may succeed, a RetryInfo says when.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

import grpc
from google.protobuf.any import pack
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from shop import errors
from shop.errors import ShopError
from shop.platform.error_codes import DOMAIN, error_for_code, row
from shop.platform.telemetry.tracing import TracedMethod

log = logging.getLogger(__name__)

STATUS = "rpc.grpc.status_code"

_WITHOUT_DETAILS: dict[grpc.StatusCode, type[ShopError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgument,
    grpc.StatusCode.OUT_OF_RANGE: errors.InvalidArgument,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDenied,
    grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: errors.AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: errors.FailedPrecondition,
    grpc.StatusCode.ABORTED: errors.Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhausted,
}


def code_of(error: ShopError) -> grpc.StatusCode:
    return grpc.StatusCode[row(error).grpc]


def details_of(error: ShopError) -> list[Any]:
    """Returns an error's details in addition to status and message: its code and field, and when to retry."""
    metadata = {"field": error.field} if error.field else {}
    details = [pack(ErrorInfo(reason=error.code.value, domain=DOMAIN, metadata=metadata))]
    if error.retry_after_s:
        details.append(pack(RetryInfo(retry_delay=Duration(seconds=error.retry_after_s))))
    return details


def status_of(error: ShopError) -> grpc.Status:
    details = details_of(error)
    return rpc_status.to_status(Status(code=code_of(error).value[0], message=error.message, details=details))


def restore(error: grpc.aio.AioRpcError, peer: str) -> ShopError:
    """Returns the error that the server sent; if gRPC itself ended the call, the error for its status."""
    info, retry = _details(error)
    if info.domain == DOMAIN:
        message, field = error.details() or "", info.metadata.get("field", "")
        return error_for_code(info.reason, message, field, retry.retry_delay.seconds)
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.late(peer)
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return errors.away(peer)
    known = _WITHOUT_DETAILS.get(code)
    if known is not None:
        return known(error.details() or code.name)
    log.error("%s ended a call with %s: %s", peer, code.name, error.details())
    return errors.Internal("internal error")


def _details(error: grpc.aio.AioRpcError) -> tuple[ErrorInfo, RetryInfo]:
    """Returns the details that the services send; a missing detail is empty."""
    info, retry = ErrorInfo(), RetryInfo()
    try:
        status = rpc_status.from_call(error)  # type: ignore[arg-type] # the error has all that from_call reads
    except ValueError:
        return info, retry
    for detail in status.details if status is not None else ():
        _ = detail.Unpack(info) or detail.Unpack(retry)
    return info, retry


def traced_method(service: str, name: str, address: Mapping[str, str | int] = MappingProxyType({})) -> TracedMethod:
    """Returns what the spans of a method's calls have in common; only the caller's spans have an address."""
    return TracedMethod.of({"rpc.system": "grpc", "rpc.service": service, "rpc.method": name, **address})
