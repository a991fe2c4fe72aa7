"""Read masks: the fields that a caller asks for, with gRPC's `read_mask` (AIP-157) and REST's `fields`.

A path has dots between the names of nested fields, and `*` for each entry of a list: `lines.*.product_id` (AIP-161).
A mask without paths, or with the path `*`, selects everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from msgspec import UNSET, inspect

from shop.contract.wire import Codec
from shop.errors import InvalidArgument

Fields: TypeAlias = Mapping[str, "Fields"]
"""Names of fields, each with its nested fields; without nested fields, the whole field is selected."""

READ_MASK = "read_mask"
MAX_PATHS = 100
EACH = "*"


class Mask(NamedTuple):
    """The fields of a resource that a caller asks for, empty for all; the resource is a struct, or a message's type."""

    resource: object
    fields: Fields


def parse_mask(paths: Iterable[str], resource: type[msgspec.Struct] | Descriptor, argument: str) -> Mask:
    """Returns the mask for paths; raises `InvalidArgument` if a path names no field, or there are too many paths."""
    listed = [tuple(path.split(".")) for path in paths]
    if len(listed) > MAX_PATHS:
        raise InvalidArgument(f"{argument} has {len(listed)} paths; at most {MAX_PATHS} are valid", field=argument)
    known = _message_fields(resource) if isinstance(resource, Descriptor) else _struct_fields(resource)
    fields: dict[str, Any] = {}
    for path in sorted(listed, key=len):
        if path == (EACH,):
            return Mask(resource, {})
        _check(path, known, argument)
        inside = fields
        for name in path:
            if inside.get(name) == {}:
                break
            inside = inside.setdefault(name, {})
    return Mask(resource, fields)


def _check(path: tuple[str, ...], known: Fields, argument: str) -> None:
    for depth, name in enumerate(path):
        if name not in known:
            holder = ".".join(path[:depth])
            valid = [f"{holder}.{each}" if holder else each for each in known] or [holder]
            message = f"{argument} names {'.'.join(path)[:80]!r}, which is no field; valid: {', '.join(valid)}"
            raise InvalidArgument(message, field=argument)
        known = known[name]


def paths_of(resource: type[msgspec.Struct]) -> list[str]:
    return list(_paths(_struct_fields(resource)))


def _paths(fields: Fields, start: str = "") -> Iterator[str]:
    for name, inside in fields.items():
        if name != EACH:
            yield start + name
        yield from _paths(inside, f"{start}{name}.")


def answering(codec: Codec[..., object], method: Callable[..., object]) -> Callable[[Any], Awaitable[Message]]:
    """Returns a function that answers a request through a use case, with the fields that the request asks for."""
    call, encode = codec.call, codec.answer

    async def answer(request: Any) -> Message:
        message: Message = encode(await call(method, request))
        return message

    if READ_MASK not in codec.request_class.DESCRIPTOR.fields_by_name:
        return answer
    resource = _resource_of(codec.answer_class.DESCRIPTOR)

    async def answer_masked(request: Any) -> Message:
        if not request.HasField(READ_MASK):
            return await answer(request)
        mask = parse_mask(request.read_mask.paths, resource, READ_MASK)
        message = await answer(request)
        keep_fields(message, mask)
        return message

    return answer_masked


def _resource_of(answer: Descriptor) -> Descriptor:
    """Returns the type of the resource that an answer is, or that it lists."""
    listed = [field.message_type for field in answer.fields if field.is_repeated]
    return listed[0] if answer.name.endswith("Response") and listed[0] else answer


def keep_fields(message: Message, mask: Mask) -> None:
    """Removes, from each resource in a message, the fields that the mask does not name."""
    if not mask.fields:
        return
    if message.DESCRIPTOR is mask.resource:
        _keep(message, mask.fields)
        return
    for field, value in message.ListFields():
        for resource in value if field.message_type is mask.resource else ():
            _keep(resource, mask.fields)


def _keep(message: Message, fields: Fields) -> None:
    for field, value in message.ListFields():
        inside = fields.get(field.name)
        if inside is None:
            message.ClearField(field.name)
        elif EACH in inside:
            for each in value if inside[EACH] else ():
                _keep(each, inside[EACH])
        elif inside:
            _keep(value, inside)


def select_fields(document: Any, mask: Mask) -> Any:
    """Returns a REST document whose resources have only the fields of a mask."""
    if not mask.fields:
        return document
    if isinstance(document, mask.resource):  # type: ignore[arg-type]
        return _select(document, mask.fields)
    page = msgspec.structs.asdict(document).items()
    return {name: _select(value, {EACH: mask.fields} if isinstance(value, list) else {}) for name, value in page}


def _select(value: Any, fields: Fields) -> Any:
    """Returns a struct's fields in the struct's order, so that the order of a mask does not change the entity tag."""
    if not fields or value is None:
        return value
    if EACH in fields:
        return [_select(each, fields[EACH]) for each in value]
    return {
        name: _select(inner, fields[name])
        for name in value.__struct_fields__
        if name in fields and (inner := getattr(value, name)) is not UNSET
    }


@cache
def _message_fields(message: Descriptor) -> Fields:
    return {field.name: _inside_field(field) for field in message.fields}


def _inside_field(field: FieldDescriptor) -> Fields:
    if field.message_type is None or field.message_type.full_name.startswith("google.protobuf."):
        return {}
    inside = _message_fields(field.message_type)
    return {EACH: inside} if field.is_repeated else inside


@cache
def _struct_fields(struct: type[msgspec.Struct]) -> Fields:
    return _inside_type(inspect.type_info(struct))


def _inside_type(kind: inspect.Type) -> Fields:
    if isinstance(kind, inspect.Metadata):
        return _inside_type(kind.type)
    if isinstance(kind, inspect.UnionType):
        return next((inside for each in kind.types if (inside := _inside_type(each))), {})
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return {EACH: inside} if (inside := _inside_type(kind.item_type)) else {}
    if isinstance(kind, inspect.StructType):
        return {field.name: _inside_type(field.type) for field in kind.fields}
    return {}
