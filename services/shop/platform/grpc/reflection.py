"""gRPC reflection in both of its versions, by which clients such as grpcurl read the contract."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from shop.contract import calls

VERSIONS = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)
"""The messages of both are the same."""
SERVICES = {service.name: service.full_name for service in calls.SERVICES}
"""Full name of each service of the contract, by the name of its component."""


def add_reflection(names: Sequence[str], server: grpc.aio.Server) -> None:
    """Adds reflection to a server. It describes the whole contract, and lists the services that are named.

    Args:
        names: Full names of the services to list.
        server: The server.
    """
    servicer = reflection.aio.ReflectionServicer([*names, *VERSIONS])
    describe = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for version in VERSIONS:
        server.add_registered_method_handlers(version, {"ServerReflectionInfo": describe})
