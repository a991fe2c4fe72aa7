"""The caller's side of gRPC: a channel to a service, and the spans and metrics of calls.

Calls are wrapped here because interceptors of grpc.aio would add a task and a second call object to each call.
We do not use opentelemetry-instrumentation-grpc. Its server side leaves the span of a rich status at OK. Its client
side never ends the span of a cancelled call. Both sides build attributes for calls that are not traced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import grpc
from opentelemetry.trace import Span, StatusCode

from shop.platform.config import is_ipv4, split_address
from shop.platform.grpc.status import STATUS
from shop.platform.outgoing import OutgoingCall
from shop.platform.process.runtime import Runtime
from shop.platform.process.unix_socket import grpc_target
from shop.platform.retries import grpc_retries
from shop.platform.telemetry.meters import Meters, Timing
from shop.platform.telemetry.tracing import TracedMethod


def grpc_channel(address: str, service: str, reads: Sequence[str], socket: str | None = None) -> grpc.aio.Channel:
    """Opens a channel; it connects on the first call, and again whenever the connection is lost.

    Args:
        address: "host:port", or the replicas' addresses: "127.0.0.1:18020,127.0.1.1:18020". Replicas get the calls
            in turn as long as their health checks succeed. If the host is a name with several addresses, such as a
            cluster's headless service, these addresses also get the calls in turn.
        reads: The service's methods that change nothing; gRPC retries them when the service is briefly unavailable.
        socket: Path of the Unix domain socket to connect to instead; calls still name the address as their authority.
    """
    options = _options(service, reads, "" if socket else address)
    if socket is not None:
        return grpc.aio.insecure_channel(grpc_target(socket), options=[*options, ("grpc.default_authority", address)])
    if "," in address:
        authority = ("grpc.default_authority", address.partition(",")[0])
        return grpc.aio.insecure_channel(f"ipv4:{address}", options=[*options, authority])
    return grpc.aio.insecure_channel(address, options=options)


class GrpcCall(OutgoingCall):
    __slots__ = ("_code", "_method")

    def __init__(self, method: TracedMethod, runtime: Runtime) -> None:
        super().__init__(runtime, method.name, None, method.attributes)
        self._method = method.name
        self._code: grpc.StatusCode | None = None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.headers().items())

    def note_status(self, code: grpc.StatusCode) -> None:
        """Records the status with which the callee, or gRPC itself, ended the call."""
        self._code = code

    def end_span(self, span: Span, error: BaseException | None) -> None:
        self.read()
        if error is not None:
            span.set_attribute("error.type", type(error).__qualname__)
        if self._code is not None:
            span.set_status(StatusCode.ERROR, self._code.name)
        span.set_attribute(STATUS, self._status_of(error).value[0])

    def measure(self, meters: Meters, error: BaseException | None) -> tuple[Timing, tuple[str, ...]]:
        code = self._status_of(error).name
        return meters.rpc_client, ("grpc", self._method, code, "" if error is None else code)

    def _status_of(self, error: BaseException | None) -> grpc.StatusCode:
        # An error without a recorded status ended the call on this side.
        return grpc.StatusCode.OK if error is None else self._code or grpc.StatusCode.CANCELLED


def _options(service: str, reads: Sequence[str], address: str = "") -> list[tuple[str, str | int]]:
    config = grpc_retries(service, reads)
    several = "," in address
    if several or (address and not is_ipv4(split_address(address)[0])):
        config["loadBalancingConfig"] = [{"round_robin": {}}]
    if several:
        config["healthCheckConfig"] = {"serviceName": service}
    return [
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_http_proxy", 0),
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        # How long one attempt to connect may take: on a busy machine, a handshake can be slow.
        ("grpc.min_reconnect_backoff_ms", 1_000),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        # By default, changed addresses are looked up at most every 30 s.
        ("grpc.dns_min_time_between_resolutions_ms", 1_000),
        ("grpc.max_receive_message_length", 16 * 1024 * 1024),
        # Components are near each other, so neither gRPC nor HTTP compresses; bit 0 (value 1) means identity.
        ("grpc.compression_enabled_algorithms_bitset", 1),
    ]
