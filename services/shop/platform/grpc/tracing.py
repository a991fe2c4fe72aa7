"""The spans of gRPC calls, of either side.

opentelemetry-instrumentation-grpc is not used: its server side does not see a rich status (`abort_with_status` leaves
its span at OK), its client side never ends the span of a call that is cancelled, and both build their attributes for
calls that are not traced too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import grpc
from opentelemetry.trace import Span, StatusCode

from shop.platform.outgoing import OutgoingCall
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.tracing import TracedMethod

if TYPE_CHECKING:
    from shop.platform.telemetry.meters import Meters, Timing

STATUS = "rpc.grpc.status_code"


def traced_method(service: str, name: str, address: Mapping[str, str | int] = MappingProxyType({})) -> TracedMethod:
    """Returns what the spans of a method's calls have in common.

    Args:
        service: Full name of the service: "shop.product.v1.ProductService".
        name: Name of the method: "GetProduct".
        address: Attributes that say where calls go, for the caller.
    """
    return TracedMethod.of({"rpc.system": "grpc", "rpc.service": service, "rpc.method": name, **address})


class GrpcCall(OutgoingCall):
    """A call of a method."""

    __slots__ = ("_code", "_method")

    def __init__(self, method: TracedMethod, runtime: Runtime) -> None:
        super().__init__(runtime, method.name, None, method.attributes)
        self._method = method.name
        self._code: grpc.StatusCode | None = None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What tells the callee of the trace."""
        return tuple(self.headers().items())

    def failed(self, code: grpc.StatusCode) -> None:
        """Notes the status that the callee, or gRPC in its place, ended the call with."""
        self._code = code

    def end_span(self, span: Span, error: BaseException | None) -> None:
        self.read()
        if error is not None:
            span.set_attribute("error.type", type(error).__qualname__)
        if self._code is not None:
            span.set_status(StatusCode.ERROR, self._code.name)
        span.set_attribute(STATUS, self._ended(error).value[0])

    def measure(self, meters: Meters, error: BaseException | None) -> tuple[Timing, tuple[str, ...]]:
        code = self._ended(error).name
        return meters.rpc_client, ("grpc", self._method, code, "" if error is None else code)

    def _ended(self, error: BaseException | None) -> grpc.StatusCode:
        # Any error but a failure that is noted ended the call from this side.
        return grpc.StatusCode.OK if error is None else self._code or grpc.StatusCode.CANCELLED
