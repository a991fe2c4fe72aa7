"""The SERVER span of a REST request.

A request that is not sampled costs a look at one header: the OpenTelemetry ASGI middleware takes about 85 µs for
the same.
"""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from opentelemetry import context as otel_context
from opentelemetry.trace import StatusCode

from shop.platform.rest.call import header
from shop.platform.spans import SERVER, CurrentSpan, SharedAttributes
from shop.platform.telemetry import LONGEST_VALUE, begin
from shop.platform.trace_context import sampled_caller

_NAMES = ("http.request.method", "url.scheme", "network.protocol.version")
_VALUES = len(_NAMES)


class ServerSpan(CurrentSpan):
    """Records a request."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        # The answer says what failed; whoever goes away before it comes is no error of this side.
        otel_context.detach(self._token)
        self.end()

    def answered(self, status: int, route: str) -> None:
        """Records the HTTP status of the answer, and the template of the route that gave it; empty if none did."""
        self.name, self.shared = _named(*self.shared[_VALUES:], route, status)
        if status >= 500:
            self.set_attribute("error.type", str(status))
            self.set_status(StatusCode.ERROR)


class Silent:
    """In place of the span of a request that is not sampled."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def answered(self, status: int, route: str) -> None:
        """Does nothing."""


_UNTRACED = Silent()


def server_span(scope: Any) -> ServerSpan | Silent:
    """Opens the span of a request, named after its method, if its caller sampled it.

    Args:
        scope: The ASGI scope.

    Returns:
        What records the answer's status.
    """
    traceparent = header(scope, b"traceparent")
    if traceparent is None:
        return _UNTRACED
    caller = sampled_caller(traceparent, header(scope, b"tracestate") or "")
    if caller is None:
        return _UNTRACED
    method: str = scope["method"]
    attributes = {"url.path": scope["path"][:LONGEST_VALUE]}
    shared = (*_NAMES, method, scope["scheme"], scope["http_version"])
    return begin(ServerSpan, method, SERVER, caller, attributes, shared) or _UNTRACED


# A client may choose any method that is a token; nearly all requests have one of a few.
@lru_cache(maxsize=1024)
def _named(method: str, scheme: str, version: str, route: str, status: int) -> tuple[str, SharedAttributes]:
    """Returns the name and the attributes of a span whose request is answered."""
    answer: dict[str, str | int] = {"http.response.status_code": status}
    if route:
        answer["http.route"] = route
    names = (*_NAMES, *answer)
    return f"{method} {route}" if route else method, (*names, method, scheme, version, *answer.values())
