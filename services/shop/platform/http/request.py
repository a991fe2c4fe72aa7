"""A request over HTTP in the form that `shop.platform.incoming` takes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable

from opentelemetry.trace import Span, StatusCode
from starlette.types import Message, Receive, Scope, Send

from shop.platform.deadline import DEFAULT_S
from shop.platform.incoming import Request
from shop.platform.telemetry.metering import MeasuredRequest
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import Attributes, SharedAttributes
from shop.platform.telemetry.tracing import MAX_VALUE

_NAMES = ("http.request.method", "url.scheme", "network.protocol.version")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class HttpRequest(Request[None]):
    """One request, whose headers have names in lower case; its status is 0 before the answer begins."""

    __slots__ = ("_send", "headers", "method", "receive", "scope", "status")

    patience_s = DEFAULT_S

    def __init__(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self.headers = headers
        self.method: str = scope["method"]
        self.status = 0

    @property
    @abstractmethod
    def route(self) -> str:
        """The template of the route that answers the request; empty if no route does."""

    @property
    def is_answered(self) -> bool:  # type: ignore[override]
        return self.status != 0

    # Not a coroutine function, which would create a coroutine for each message.
    def send(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        return self._send(message)

    def header(self, name: str) -> str | None:
        value = self.headers.get(name.encode())
        return None if value is None else str(value, "latin-1")

    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        scope = self.scope
        method: str = scope["method"]
        # The client's scheme, if an edge passes it on.
        scheme = "https" if self.headers.get(b"x-forwarded-proto") == b"https" else scope["scheme"]
        return method, {"url.path": scope["path"][:MAX_VALUE]}, (*_NAMES, method, scheme, scope["http_version"])

    def end_span(self, span: Span, error: BaseException | None) -> None:  # noqa: ARG002 - the answer says what failed
        if route := self.route:
            span.update_name(f"{self.scope['method']} {route}")
            span.set_attribute("http.route", route)
        # A client that leaves before its answer comes is not an error of this side.
        if self.status:
            span.set_attribute("http.response.status_code", self.status)
            if self.status >= 500:
                span.set_status(StatusCode.ERROR)

    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:
        # If an application fails, its server writes the answer.
        status = self.status or (500 if isinstance(error, Exception) else 0)
        fault = asked.error or (str(status) if status >= 500 else "")
        method = self.method if self.method in _METHODS else "_OTHER"
        values = (method, asked.route or self.route, asked.operation, str(status or ""), fault)
        meters.http_server.note(values, asked.seconds, asked.trace_id)
