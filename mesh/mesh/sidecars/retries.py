"""The calls that a sidecar retries on another instance: read-only methods, by the contract."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions

from mesh.envoy_config import DESCRIPTOR


@cache
def repeatable_paths(service: str, file: Path = DESCRIPTOR) -> tuple[str, ...]:
    """The HTTP/2 paths of a service's read-only gRPC methods.

    Args:
        service: Name of the service, such as `product`.
        file: Descriptors of the contract, made by `make stubs`.
    """
    contract = FileDescriptorSet.FromString(file.read_bytes())
    return tuple(
        f"/{proto.package}.{declared.name}/{method.name}"
        for proto in contract.file
        if proto.package.startswith(f"shop.{service}.")
        for declared in proto.service
        for method in declared.method
        if method.options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    )
