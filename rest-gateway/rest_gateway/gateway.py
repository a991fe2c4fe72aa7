"""The ASGI application: from a request to a route and back, the same for every resource."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rest_gateway.answers import Answer
from rest_gateway.auth import Access, Door
from rest_gateway.binding import Binding
from rest_gateway.caching import NO_STORE
from rest_gateway.call import Call
from rest_gateway.operations import ACCESS_KEY
from rest_gateway.problems import method_not_allowed, problem_answer
from rest_gateway.tracing import server_span
from shop.errors import NotFound
from shop.platform.deadline import deadline

DEADLINE_HEADER = b"x-envoy-expected-rq-timeout-ms"
DEFAULT_DEADLINE_S = 5.0
LONGEST_DEADLINE_S = 60.0
HEALTH_PATH = "/healthz"

_HEALTHY = Answer(200, b'{"status":"ok"}', [NO_STORE])


class Operation:
    """One method of one path.

    Args:
        route: The route as it was declared.
    """

    def __init__(self, route: APIRoute) -> None:
        self.endpoint: Callable[..., Awaitable[Response]] = route.endpoint
        self.access = Access((route.openapi_extra or {}).get(ACCESS_KEY, Access.EVERYBODY))
        self.binding = Binding(route)


class Resource:
    """One path and its methods.

    Args:
        template: The path's template: "/v1/orders/{order_id}".
        pattern: Matches the path and names what stands for each parameter.
    """

    def __init__(self, template: str, pattern: re.Pattern[str]) -> None:
        self.template = template
        self.pattern = pattern
        self.operations: dict[str, Operation] = {}

    @property
    def methods(self) -> list[str]:
        """The methods that are possible here."""
        return sorted({*self.operations, "HEAD"} if "GET" in self.operations else self.operations)


class Gateway:
    """Serves the routes that were declared with FastAPI.

    Args:
        api: The routes and their document.
        door: Checks who calls.
    """

    def __init__(self, api: FastAPI, door: Door) -> None:
        self.api = api
        self._door = door
        resources: dict[str, Resource] = {}
        for route in api.routes:
            if not isinstance(route, APIRoute):
                raise TypeError(f"{route} is not declared as a route of the API")
            resource = resources.setdefault(route.path_format, Resource(route.path_format, route.path_regex))
            for method in route.methods or ():
                resource.operations[method] = Operation(route)
        self._fixed = {path: resource for path, resource in resources.items() if "{" not in path}
        # The longest template first, so that /v1/orders/{order_id}:cancel comes before /v1/orders/{order_id}.
        self._templates = sorted(
            (resource for path, resource in resources.items() if "{" in path), key=lambda one: -len(one.template)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request (ASGI)."""
        if scope["type"] != "http":
            await self.api(scope, receive, send)
            return
        path: str = scope["path"]
        if path == HEALTH_PATH:
            await _HEALTHY(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            send = _without_body(send)
        resource, values = self._find(path)
        with server_span(scope, resource.template if resource else "") as span, deadline(_allowed_s(scope)):
            try:
                answer = await self._answer(resource, Call(scope, receive, values))
            except Exception as error:
                answer = problem_answer(error, path)
            span.answered(answer.status_code)
            await answer(scope, receive, send)

    def _find(self, path: str) -> tuple[Resource | None, dict[str, Any]]:
        resource = self._fixed.get(path)
        if resource is not None:
            return resource, {}
        for templated in self._templates:
            match = templated.pattern.match(path)
            if match:
                return templated, match.groupdict()
        return None, {}

    async def _answer(self, resource: Resource | None, call: Call) -> Response:
        if resource is None:
            raise NotFound("there is nothing at this path; /openapi.json lists all paths")
        method: str = call.scope["method"]
        operation = resource.operations.get("GET" if method == "HEAD" else method)
        if operation is None:
            raise method_not_allowed(method, resource.methods)
        self._door.admit(call, operation.access)
        return await operation.endpoint(**await operation.binding.arguments(call))


def _allowed_s(scope: Scope) -> float:
    """Returns the time that the edge allows, in seconds; the default if it says nothing sensible."""
    for key, value in scope["headers"]:
        if key == DEADLINE_HEADER:
            if value.isdigit() and len(value) < 10 and int(value) > 0:
                return min(int(value) / 1000, LONGEST_DEADLINE_S)
            break
    return DEFAULT_DEADLINE_S


def _without_body(send: Send) -> Send:
    async def headers_only(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return headers_only
