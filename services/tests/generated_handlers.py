"""The methods of a servicer that is written for generated code, as `grpc_server` takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import grpc

from shop.platform.grpc.server import Handlers


class _Collector:
    def __init__(self) -> None:
        self.handlers: dict[str, Mapping[str, Any]] = {}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """Does nothing: generated code adds the same methods by their names, too."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        self.handlers[service] = handlers


def generated_handlers(add: Callable[[Any, grpc.aio.Server], None], servicer: object) -> Handlers:
    """Returns what generated code adds to a server for a servicer."""
    collector = _Collector()
    add(servicer, cast(grpc.aio.Server, collector))
    return collector.handlers
