"""Attempts as a browser sends them: the gRPC attempts in gRPC-Web, which the edge translates, and over Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import httpx
from google.protobuf import message_factory, text_format

from connect_client import frame, frames

from .contract import Attempt
from .over_grpc import METHODS, Send, attempts

END = 0x80
"""Flag of the last frame in gRPC-Web, which contains the trailers; in Connect, this flag is 0x02."""


def grpc_web_attempts(http: httpx.Client) -> Iterator[Attempt]:
    """Yields an attempt for each argument of each method, in gRPC-Web."""
    for method in METHODS.values():
        yield from attempts(method, _over_grpc_web(http, method), "gRPC-Web")


def connect_attempts(http: httpx.Client) -> Iterator[Attempt]:
    """Yields an attempt for each argument of each method, over Connect."""
    for method in METHODS.values():
        yield from attempts(method, _over_connect(http, method), "Connect")


def _over_grpc_web(http: httpx.Client, method: Any) -> Send:
    text_of = _text_of(method)

    def send(token: str, request: Any, _name: str) -> str:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
        answer = http.post(_path(method), content=frame(request.SerializeToString()), headers=headers)
        assert answer.status_code == 200, answer.text
        parts = list(frames(answer.content))
        trailers = b"".join(content for flag, content in parts if flag & END).decode()
        status = answer.headers.get("grpc-status") or trailers.partition("grpc-status:")[2].partition("\r")[0]
        said = unquote(answer.headers.get("grpc-message", "") + trailers)
        return "\n".join([f"{status}: {said}", *(text_of(content) for flag, content in parts if not flag & END)])

    return send


def _over_connect(http: httpx.Client, method: Any) -> Send:
    text_of = _text_of(method)

    def send(token: str, request: Any, _name: str) -> str:
        message, streams = request.SerializeToString(), method.server_streaming
        headers = {"authorization": f"Bearer {token}"}
        headers["content-type"] = "application/connect+proto" if streams else "application/proto"
        answer = http.post(_path(method), content=frame(message) if streams else message, headers=headers)
        if not streams:
            return text_of(answer.content) if answer.is_success else f"{answer.status_code} {answer.text}"
        assert answer.status_code == 200, answer.text
        return "\n".join(text_of(one) if not flag else one.decode() for flag, one in frames(answer.content))

    return send


def _path(method: Any) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _text_of(method: Any) -> Callable[[bytes], str]:
    answers = message_factory.GetMessageClass(method.output_type)
    return lambda content: text_format.MessageToString(answers.FromString(content))
