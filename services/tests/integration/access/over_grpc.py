"""Attempts over gRPC, and through Envoy's transcoder, from the descriptors of the contract."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import yaml
from google.protobuf import message_factory, text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from grpc_status import rpc_status

from shop.stubs import order_pb2, payment_pb2, product_pb2, user_pb2

from .contract import CONDITIONS, IGNORED, NONCE, NONCES, PLAIN, Attempt, Ids, Kind, classify, resource_of

MODULES = (order_pb2, payment_pb2, product_pb2, user_pb2)
METHODS = {
    method.full_name: method
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
RULES = Path(__file__).parents[4] / "gateway" / "envoy" / "transcoding.yaml"
MASKS = {"Product": "title", "User": "name"}

Send = Callable[[str, Any, str], str]


def grpc_attempts(channel: grpc.Channel) -> Iterator[Attempt]:
    """Yields an attempt for each argument that identifies a customer's thing, for each method."""
    for method in METHODS.values():
        yield from attempts(method, _over_grpc(channel, method))


def transcoder_attempts(client: httpx.Client) -> Iterator[Attempt]:
    """Yields an attempt for each argument that identifies a customer's thing, for each transcoded method."""
    rules = yaml.safe_load(RULES.read_text())
    for name, rule in rules.items():
        yield from attempts(METHODS[name], _over_transcoder(client, rule))


def attempts(method: Any, send: Send) -> Iterator[Attempt]:
    """Yields an attempt for each argument of one method that identifies a customer's thing."""
    leaves = list(_leaves(method.input_type))
    names_user = any(path[-1].name == "user_id" for path in leaves)
    kinds = {}
    for path in leaves:
        where = ".".join([method.name, *(part.name for part in path)])
        holder = path[-1].containing_type.name
        resource = holder if holder in ("User", "Product") else resource_of(method.name)
        kinds[where] = classify(where, path[-1].name, resource, names_user=names_user)
    for tested, kind in kinds.items():
        if kind is None:
            continue

        def make(token: str, own: Ids, value: Any, tested: str = tested) -> str:
            request = message_factory.GetMessageClass(method.input_type)()
            for where, leaf in zip(kinds, leaves, strict=True):
                _set(request, leaf, kinds[where], own, value if where == tested else None)
            return send(token, request, method.name)

        makes = kind is Kind.KEY or method.name.startswith("Create")
        yield Attempt(f"gRPC {tested}", kind, make, makes=makes, ignored=tested in IGNORED)


def _leaves(message: Any, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    for one in message.fields:
        if one.name in CONDITIONS:
            continue
        if one.message_type is None:
            yield (*above, one)
        elif one.message_type.full_name != "google.protobuf.FieldMask":
            yield from _leaves(one.message_type, (*above, one))


def _set(message: Any, path: tuple[FieldDescriptor, ...], kind: Kind | None, own: Ids, tested: Any) -> None:
    for part in path[:-1]:
        if part.is_repeated:
            entries = getattr(message, part.name)
            message = entries[0] if len(entries) else entries.add()
        else:
            if part.message_type.name in MASKS and "update_mask" in message.DESCRIPTOR.fields_by_name:
                message.update_mask.paths[:] = [MASKS[part.message_type.name]]
            message = getattr(message, part.name)
    leaf = path[-1]
    if kind is None:
        value = PLAIN.get(leaf.name, 9000 if leaf.name in ("id", "ids") else "")
        if leaf.enum_type is not None:
            value = next(one.number for one in leaf.enum_type.values if one.name.endswith(f"_{value}"))
        if isinstance(value, str):
            value = value.replace(NONCE, NONCES.new())
    elif tested is not None:
        value = [own.of(kind), tested] if leaf.is_repeated else tested
    else:
        # The caller's own page or key is empty: the first page, and a new purchase.
        value = {Kind.PAGE: "", Kind.KEY: NONCES.new()}.get(kind, own.of(kind))
    if leaf.is_repeated:
        getattr(message, leaf.name)[:] = value if isinstance(value, list) else [value]
    else:
        setattr(message, leaf.name, value)


def _over_grpc(channel: grpc.Channel, method: Any) -> Send:
    full = f"/{method.containing_service.full_name}/{method.name}"
    answers = message_factory.GetMessageClass(method.output_type)
    kind = channel.unary_stream if method.server_streaming else channel.unary_unary
    call = kind(full, lambda message: message.SerializeToString(), answers.FromString)

    def send(token: str, request: Any, _name: str) -> str:
        metadata = (("authorization", f"Bearer {token}"),)
        try:
            answer = call(request, metadata=metadata, timeout=10)
            messages = list(answer) if method.server_streaming else [answer]
            return "\n".join(text_format.MessageToString(one) for one in messages)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}\n{rpc_status.from_call(error)}"

    return send


def _over_transcoder(client: httpx.Client, rule: dict[str, str]) -> Send:
    (verb,) = set(rule) - {"body"}

    def send(token: str, request: Any, name: str) -> str:
        fields = MessageToDict(request, preserving_proto_field_name=True)
        path = re.sub(r"\{(\w+)\}", lambda match: str(fields.pop(match[1])), rule[verb])
        content = {"json": fields} if "body" in rule else {"params": fields}
        answer = client.request(verb.upper(), path, headers={"authorization": f"Bearer {token}"}, **content)
        return f"{answer.status_code} {answer.headers.get('content-type')}\n{answer.text}"

    return send
