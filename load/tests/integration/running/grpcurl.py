"""Replaces grpcurl, which the start page uses: makes a call whose types the server describes by reflection."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("-plaintext", action="store_true")
    parser.add_argument("-cacert", type=Path)
    parser.add_argument("-H", default="")
    parser.add_argument("-d", default="{}")
    parser.add_argument("place")
    parser.add_argument("method")
    options = parser.parse_args()
    if options.plaintext:
        channel = grpc.insecure_channel(options.place, options=[("grpc.enable_http_proxy", 0)])
    else:
        channel = grpc.secure_channel(options.place, grpc.ssl_channel_credentials(options.cacert.read_bytes()))
    pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    service, _, method = options.method.partition("/")
    described = pool.FindServiceByName(service).FindMethodByName(method)
    request = json_format.Parse(options.d, message_factory.GetMessageClass(described.input_type)())
    call = channel.unary_unary(
        f"/{options.method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
    )
    name, _, value = options.H.partition(": ")
    sys.stdout.write(json_format.MessageToJson(call(request, timeout=10, metadata=[(name, value)] if name else None)))


if __name__ == "__main__":
    main()
