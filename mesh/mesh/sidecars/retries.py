"""The calls that a sidecar retries on another instance: read-only methods, by the contract."""

from __future__ import annotations

from functools import cache

from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions

from mesh.envoy_config import DESCRIPTOR


@cache
def repeatable_paths(service: str) -> tuple[str, ...]:
    """The HTTP/2 paths of a service's read-only gRPC methods."""
    contract = FileDescriptorSet.FromString(DESCRIPTOR.read_bytes())
    return tuple(
        f"/{proto.package}.{declared.name}/{method.name}"
        for proto in contract.file
        if proto.package.startswith(f"shop.{service}.")
        for declared in proto.service
        for method in declared.method
        if method.options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    )
