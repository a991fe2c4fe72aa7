"""How a component is called from outside, over any protocol: a call, and its answer."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import grpc
import httpx
import pytest
from google.protobuf import message_factory
from google.protobuf.json_format import ParseDict
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from connect_client import frame, frames, read_details
from mesh.supervisor.readiness import http_ok
from shop.contract import calls
from shop.platform.error_codes import DOMAIN
from shop.stubs import order_pb2, payment_pb2, product_pb2, user_pb2

LIMIT_S = 20
SERVICES = {
    module.DESCRIPTOR.package.split(".")[1]: next(iter(module.DESCRIPTOR.services_by_name.values()))
    for module in (product_pb2, order_pb2, user_pb2, payment_pb2)
}
"""The contract of each service."""
Headers = Mapping[str, str]
NONE: Headers = {}


@dataclass(frozen=True)
class Answer:
    """The answer to a call.

    Attributes:
        code: Code of the error; empty for no error.
        field: The field at fault, if the error names one.
        body: The answer itself: a message, the messages of a stream, or the parsed JSON.
        retry_s: Number of seconds after which to retry; 0 if the error does not specify it.
    """

    code: str = ""
    field: str = ""
    body: Any = None
    retry_s: int = 0


class Door(Protocol):
    def serves(self) -> bool:
        """Whether the component's health check succeeds; also False if nothing answers."""

    def ask(self, name: str, content: Any, headers: Headers = NONE) -> Answer:
        """Makes a call of a method, with content in the protocol's own form."""

    def close(self) -> None:
        """Ends its connections."""


class GrpcDoor:
    """A service over gRPC; the content is the request's fields, or bytes that are sent as they are."""

    def __init__(self, target: str, component: str) -> None:
        self.service = SERVICES[component]
        self.names = [method.name for method in self.service.methods]
        self.channel = grpc.insecure_channel(target, options=self.options(component))

    @staticmethod
    def options(component: str) -> tuple[tuple[str, str | int], ...]:
        """The options of a channel with a separate connection."""
        return (
            ("grpc.enable_http_proxy", 0),
            ("grpc.default_authority", component),
            ("grpc.use_local_subchannel_pool", 1),
        )

    def serves(self) -> bool:
        with contextlib.suppress(grpc.RpcError):
            answer = health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(), timeout=1)
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
        return False

    def ask(self, name: str, content: Any, headers: Headers = NONE) -> Answer:
        method = self.service.methods_by_name[name]
        request, answers = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        sent = content if isinstance(content, bytes) else ParseDict(content, request()).SerializeToString()
        kind = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        call = kind(f"/{self.service.full_name}/{name}", None, answers.FromString)
        try:
            answer = call(sent, metadata=tuple(headers.items()), timeout=LIMIT_S)
            return Answer(body=list(answer) if method.server_streaming else answer)
        except grpc.RpcError as error:
            status, info, retry = rpc_status.from_call(error), ErrorInfo(), RetryInfo()
            for detail in status.details if status else ():
                _ = detail.Unpack(info) or detail.Unpack(retry)
            if info.domain != "hopwise":
                ended = f"{error.code().name}: {error.details()}"
                pytest.fail(f"{name} is answered with {ended}; its details have no ErrorInfo of the domain hopwise")
            return Answer(info.reason, info.metadata.get("field", ""), retry_s=retry.retry_delay.seconds)

    def close(self) -> None:
        self.channel.close()


class HttpDoor:
    """A gateway over HTTP; `name` is the method and the content a path, or "graphql" and the content a document."""

    def __init__(self, target: str) -> None:
        path = target.removeprefix("unix:") if target.startswith("unix:") else None
        self._answers = http_ok(Path(path), "/healthz") if path else None
        self._target = target
        self.client = httpx.Client(
            base_url="http://gateway" if path else f"http://{target}",
            transport=httpx.HTTPTransport(uds=path),
            trust_env=False,
            timeout=LIMIT_S,
        )

    def serves(self) -> bool:
        return self._answers() if self._answers else http_ok(int(self._target.rpartition(":")[2]), "/healthz")()

    def ask(self, name: str, content: Any, headers: Headers = NONE) -> Answer:
        if name == "graphql":
            answer = self.client.post("/graphql", json={"query": content}, headers=dict(headers)).json()
            first = (answer.get("errors") or [{}])[0].get("extensions", {})
            return Answer(first.get("code", ""), first.get("field", ""), answer)
        return self.answer(self.client.request(name, content, headers=dict(headers)))

    @staticmethod
    def answer(response: httpx.Response) -> Answer:
        said = response.json() if response.content else {}
        if response.is_success:
            return Answer(body=said)
        assert response.headers["content-type"].startswith("application/problem+json"), response.text
        return Answer(said["code"], (said.get("errors") or [{}])[0].get("field", ""), said)

    def close(self) -> None:
        self.client.close()


class RestDoor(HttpDoor):
    """A service over REST; `name` and content are as over gRPC. The path has the content's id, or else `absent`."""

    def __init__(self, target: str, component: str, absent: int) -> None:
        super().__init__(target)
        [service] = [service for service in calls.SERVICES if service.name == component]
        self._absent, self._routes = absent, {call.name: call.rest.split() for call in service.calls if call.rest}
        self.names = list(self._routes)

    def ask(self, name: str, content: Any, headers: Headers = NONE) -> Answer:
        verb, path = self._routes[name]
        path = re.sub(r"{\w+}", str(content.get("id", self._absent)), path)
        body = content if verb in ("POST", "PUT", "PATCH") else None
        return self.answer(self.client.request(verb, path, headers=dict(headers), json=body))


class ConnectDoor(HttpDoor):
    """A service over Connect, with messages in JSON; `name` and content are as over gRPC."""

    def __init__(self, target: str, component: str) -> None:
        super().__init__(target)
        self._service = SERVICES[component]
        self.names = [method.name for method in self._service.methods]

    def ask(self, name: str, content: Any, headers: Headers = NONE) -> Answer:
        streams = self._service.methods_by_name[name].server_streaming
        message = content if isinstance(content, bytes) else json.dumps(content).encode()
        sent, kind = (frame(message), "application/connect+json") if streams else (message, "application/json")
        path = f"/{self._service.full_name}/{name}"
        answer = self.client.post(path, content=sent, headers={**headers, "content-type": kind})
        if streams:
            assert answer.is_success, answer.text
            *body, end = (json.loads(part) for _, part in frames(answer.content))
            error = end.get("error")
        else:
            body = answer.json()
            error = None if answer.is_success else body
        if error is None:
            return Answer(body=body)
        info, retry = read_details(error)
        assert info.domain == DOMAIN, f"{name} is answered with {error}; its details have no ErrorInfo of {DOMAIN}"
        return Answer(info.reason, info.metadata.get("field", ""), error, retry.retry_delay.seconds)
