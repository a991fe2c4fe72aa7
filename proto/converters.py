"""Writes the functions that convert between the contract's messages and the shop's values.

There is a module for each service in protobuf, and for each service in Thrift. It has a row for each call: the call's
message classes, and functions that turn

- the arguments of the port's method into a request,
- a request into a call of the use case,
- the use case's result into an answer, and
- an answer into the result of the port's method.

The ports' signatures say what to convert. Fields and arguments have the messages' names, except that

- an argument `product_id` is the field `id` where the request has no `product_id`;
- arguments that the request lacks are fields of the resource in it: `title` is `product.title`;
- `after` is the field `after_position`, and a value's moment is the message's `create_time`.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Union, Unpack, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from msgspec import Meta

from shop.contract.ports import Clients, StreamedDocuments
from shop.fields import INSTANT
from shop.values.page import Page

PORTS = get_type_hints(Clients)
PROTOCOLS = ("protobuf", "thrift")
UNKNOWN = {
    "Event.status": "FAILED",
    "Notification.status": "FAILED",
    "UpdateOrderStatusRequest.status": "PENDING",
}
"""What an enum's number means that the contract does not have: a status that the use case refuses. For all other
fields, such a number is an error."""
MASK = "update_mask"
READ_MASK = "read_mask"
"""The field with a read mask. The server applies the mask to the use case's result, so no port has this argument."""
EXPECTED = "expected"


def write(into: Path, services: Mapping[str, ServiceDescriptor], thrift: Collection[str], header: str) -> None:
    """Writes the modules `into/protobuf/product.py`, `into/thrift/product.py` and so on.

    Args:
        into: The folder.
        services: Descriptors of the contract's services by their short names.
        thrift: Names of the methods that Thrift has.
        header: First line of each file.
    """
    for protocol in PROTOCOLS:
        folder = into / protocol
        folder.mkdir(parents=True)
        folder.joinpath("__init__.py").write_text(header)
        for name, service in services.items():
            methods = [each for each in service.methods if protocol == "protobuf" or each.name in thrift]
            if methods:
                module = Module(protocol == "protobuf")
                for method in methods:
                    module.add(method, PORTS[name])
                folder.joinpath(f"{name}.py").write_text(header + "\n" + module.text())
    into.joinpath("__init__.py").write_text(header)


@dataclass(frozen=True)
class Parameter:
    """An argument of a port's method, and the field of the request that carries it.

    Attributes:
        name: Name of the argument.
        type: Type of the argument.
        path: Path of the field in the request: through the resource's field if the argument belongs to the resource.
        default: The argument's default as text; empty if there is none.
        by_name: Whether callers must pass the argument by name.
    """

    name: str
    type: Any
    path: tuple[FieldDescriptor, ...]
    default: str
    by_name: bool


@dataclass
class Module:
    """The text of a module.

    Attributes:
        is_protobuf: Whether messages are protobuf's rather than Thrift's structs.
    """

    is_protobuf: bool
    _imports: set[str] = field(default_factory=set)
    _constants: dict[str, str] = field(default_factory=dict)
    _functions: dict[str, str] = field(default_factory=dict)
    _rows: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Returns the whole text except for the header."""
        imports = "".join(f"{line}\n" for line in sorted(self._imports))
        constants = "".join(f"{name} = {value}\n" for name, value in self._constants.items())
        rows = "".join(f"    {row},\n" for row in self._rows)
        return f"{imports}\n{constants}\n" + "\n".join(self._functions.values()) + f"\nCALLS = {{\n{rows}}}\n"

    def add(self, method: MethodDescriptor, port: Any) -> None:
        """Adds a call's functions and its row."""
        name = snake(method.name)
        called = getattr(port, name, None) or getattr(StreamedDocuments, name)
        parameters = list(parameters_of(called, method.input_type))
        self._add_request(name, parameters, method.input_type)
        self._add_call(name, parameters)
        answer, value = self._answer(method.output_type, get_type_hints(called, include_extras=True)["return"])
        kinds = [self._class(kind) if self.is_protobuf else "None" for kind in (method.input_type, method.output_type)]
        paths = {each.name: ".".join(part.name for part in each.path) for each in parameters}
        moved = {name: path for name, path in paths.items() if name != path}
        self._rows.append(
            f'"{method.name}": ({", ".join(kinds)}, request_{name}, call_{name}, {answer}, {value}, {moved!r})'
        )

    def _add_request(self, name: str, parameters: Sequence[Parameter], request: Descriptor) -> None:
        top, inner, resource = {}, {}, None
        for each in parameters:
            encoded = self._encode(each.type, each.path[-1], each.name)
            if len(each.path) == 1:
                top[each.path[0].name] = encoded
            else:
                resource, inner[each.path[1].name] = each.path[0], encoded
        if resource is not None:
            top[resource.name] = self._make(message_of(resource), inner)
        if MASK in request.fields_by_name:
            pairs = ", ".join(f'("{each.name}", {each.name})' for each in changeable(parameters))
            paths = f"[name for name, value in ({pairs}) if value is not None]"
            if self.is_protobuf:
                paths = f"{self._import('google.protobuf.field_mask_pb2', 'FieldMask')}(paths={paths})"
            top[MASK] = paths
        self._function(f"request_{name}", signature(parameters), self._make(request, top))

    def _add_call(self, name: str, parameters: Sequence[Parameter]) -> None:
        resources = dict.fromkeys(each.path[0].name for each in parameters if len(each.path) == 2)
        before, given = [f"{resource} = request.{resource}" for resource in resources], []
        masked = {each.name for each in changeable(parameters)} if has_mask(parameters) else set()
        if masked:
            paths = f"request.{MASK}.paths" if self.is_protobuf else f"request.{MASK}"
            names = ", ".join(f'"{each.name}"' for each in changeable(parameters))
            before.append(f"paths = {self._import('shop.values.mask', 'check_mask')}({paths}, ({names}))")
        for each in parameters:
            holder = "request" if len(each.path) == 1 else each.path[0].name
            if each.name in masked:
                inner = self._decode(without_none(each.type), each.path[-1], holder)
                decoded = f'{inner} if "{each.name}" in paths else None'
            else:
                decoded = self._decode(each.type, each.path[-1], holder)
            given.append(f"{each.name}={decoded}" if each.by_name else decoded)
        self._function(f"call_{name}", "method, request", f"method({', '.join(given)})", before)

    def _answer(self, message: Descriptor, hint: Any) -> tuple[str, str]:
        """Returns the names of two functions: to make a call's answer from a value, and to read the value back."""
        origin, inner = get_origin(hint), get_args(hint)
        if origin is AsyncGenerator or (origin is None and isinstance(hint, type) and is_value(hint)):
            pair = self._pair(message, inner[0] if inner else hint)
            return f"encode_{pair}", f"decode_{pair}"
        name = snake(message.name)
        if hint is type(None):
            encoded, decoded = self._class(message) + "()" if self.is_protobuf else "", "None"
        elif hint is int:
            (only,) = message.fields
            encoded, decoded = self._make(message, {only.name: "value"}), f"message.{only.name}"
        else:
            only, *rest = message.fields
            if origin is Mapping:
                items, item = self._entries(only, inner)
                decoded = f"{{{item} for entry in message.{only.name}}}"
            else:
                items = self._encode(list[inner[0]], only, "value.items" if origin is Page else "value")  # type: ignore[valid-type]
                item = f"map(decode_{self._pair(message_of(only), inner[0])}, message.{only.name})"
                decoded = item if origin is AsyncIterator else f"list({item})"
            fields = {only.name: items}
            if origin is Page:
                (token,) = rest
                fields[token.name] = f"value.{token.name}"
                decoded = f"{self._import(Page.__module__, 'Page')}(tuple({item}), message.{token.name})"
            encoded = self._make(message, fields)
        self._function(f"decode_{name}", "message", decoded)
        if hint is type(None) and not self.is_protobuf:
            return "None", f"decode_{name}"
        self._function(f"encode_{name}", "value", encoded)
        return f"encode_{name}", f"decode_{name}"

    def _entries(self, entries: FieldDescriptor, inner: Sequence[Any]) -> tuple[str, str]:
        """Returns how a mapping to lists becomes entries with a key and a list, and how an entry becomes an item."""
        key, some = message_of(entries).fields
        made = self._make(message_of(entries), {key.name: "key", some.name: self._encode(inner[1], some, "some")})
        read = f"tuple(map(decode_{self._pair(message_of(some), get_args(inner[1])[0])}, entry.{some.name}))"
        return f"[{made} for key, some in value.items()]", f"entry.{key.name}: {read}"

    def _pair(self, message: Descriptor, value: type) -> str:
        """Adds the functions that convert a value to a message and back; returns the end of their names."""
        name = snake(message.name)
        if f"encode_{name}" not in self._functions:
            self._functions[f"encode_{name}"] = ""
            attributes = get_type_hints(value, include_extras=True)
            names = {attribute: field_of(message, attribute, hint) for attribute, hint in attributes.items()}
            made = {names[a].name: self._encode(hint, names[a], f"value.{a}") for a, hint in attributes.items()}
            read = ", ".join(self._decode(hint, names[a], "message") for a, hint in attributes.items())
            del self._functions[f"encode_{name}"]
            self._function(f"encode_{name}", "value", self._make(message, made))
            self._function(f"decode_{name}", "message", f"{self._import(value.__module__, value.__name__)}({read})")
        return name

    def _encode(self, hint: Any, of: FieldDescriptor, value: str) -> str:
        """Returns the expression that makes a message field's content from a value's attribute."""
        plain = plainest(hint)
        if is_optional(hint) and (is_value(without_none(hint)) or plain is datetime):
            return f"None if {value} is None else {self._encode(without_none(hint), of, value)}"
        if plain is datetime:
            if not is_whole(hint):
                return value
            seconds = f"int({value}.timestamp())"
            if self.is_protobuf:
                return f"{self._import('google.protobuf.timestamp_pb2', 'Timestamp')}(seconds={seconds})"
            return f"{self._import('shop.stubs.thrift', 'ttypes')}.Timestamp({seconds})"
        if get_origin(plain) in (tuple, list, Sequence):
            if of.message_type is None:
                return value if self.is_protobuf else f"list({value})"
            mapped = f"map(encode_{self._pair(message_of(of), plainest(get_args(plain)[0]))}, {value})"
            return mapped if self.is_protobuf else f"list({mapped})"
        if issubclass(plain, StrEnum):
            return f"{self._numbers(plain, of)}_NUMBERS[{value}]"
        return f"encode_{self._pair(message_of(of), plain)}({value})" if is_value(plain) else value

    def _decode(self, hint: Any, of: FieldDescriptor, holder: str) -> str:
        """Returns the expression that makes a value's attribute from a message field's content."""
        content, plain = f"{holder}.{of.name}", plainest(hint)
        if is_optional(hint):
            present = self._decode(without_none(hint), of, holder)
            if self.is_protobuf:
                return f'{present} if {holder}.HasField("{of.name}") else None'
            return f"{present} if {content} is not None else None"
        if plain is datetime:
            utc = self._import("datetime", "UTC")
            if is_whole(hint):
                return f"{self._import('datetime', 'datetime')}.fromtimestamp({content}.seconds, {utc})"
            moment, delta = self._import("datetime", "datetime"), self._import("datetime", "timedelta")
            self._constants["EPOCH"] = f"{moment}(1970, 1, 1, tzinfo={utc})"
            return f"EPOCH + {delta}(seconds={content}.seconds, microseconds={content}.nanos // 1_000)"
        if get_origin(plain) in (tuple, list, Sequence):
            if of.message_type is None:
                return content
            kind = "tuple" if get_origin(plain) is tuple else "list"
            return f"{kind}(map(decode_{self._pair(message_of(of), plainest(get_args(plain)[0]))}, {content}))"
        if issubclass(plain, StrEnum):
            values = f"{self._numbers(plain, of)}_VALUES"
            unknown = UNKNOWN.get(f"{holder_of(of).name}.{of.name}")
            return f"{values}[{content}]" if unknown is None else f"{values}.get({content}, {plain.__name__}.{unknown})"
        return f"decode_{self._pair(message_of(of), plain)}({content})" if is_value(plain) else content

    def _numbers(self, kind: type[StrEnum], of: FieldDescriptor) -> str:
        """Adds the numbers of an enum; returns the beginning of the constants' names."""
        enum = of.enum_type
        assert enum is not None
        name = snake(enum.name).upper()
        numbers = {value.name.removeprefix(f"{name}_"): value.number for value in enum.values}
        imported = self._import(kind.__module__, kind.__name__)
        pairs = ", ".join(f"{imported}.{member.name}: {numbers[member.value]}" for member in kind)
        self._constants[f"{name}_NUMBERS"] = f"{{{pairs}}}"
        self._constants[f"{name}_VALUES"] = f"{{number: value for value, number in {name}_NUMBERS.items()}}"
        return name

    def _make(self, message: Descriptor, fields: Mapping[str, str]) -> str:
        """Returns the expression that makes a message from its fields' contents."""
        if self.is_protobuf:
            return f"{self._class(message)}({', '.join(f'{name}={content}' for name, content in fields.items())})"
        contents = [fields.get(each.name, "None") for each in sorted(message.fields, key=lambda each: each.number)]
        while contents and contents[-1] == "None":
            contents.pop()
        return f"{self._import('shop.stubs.thrift', 'ttypes')}.{message.name}({', '.join(contents)})"

    def _class(self, message: Descriptor) -> str:
        package, _, file = message.file.name.removesuffix(".proto").replace("/", ".").rpartition(".")
        if package == "google.protobuf":
            return self._import(f"{package}.{file}_pb2", message.name)
        return f"{self._import(package.replace('shop.', 'shop.stubs.', 1), f'{file}_pb2')}.{message.name}"

    def _import(self, module: str, name: str) -> str:
        self._imports.add(f"from {module} import {name}")
        return name

    def _function(self, name: str, arguments: str, result: str, before: Sequence[str] = ()) -> None:
        body = "".join(f"    {line}\n" for line in (*before, f"return {result}"))
        self._functions[name] = f"\ndef {name}({arguments}):\n{body}"


def parameters_of(method: Any, request: Descriptor) -> Iterator[Parameter]:
    """Yields the arguments of a port's method."""
    hints = get_type_hints(method, include_extras=True)
    given: dict[str, tuple[Any, str, bool]] = {}
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if get_origin(hints[name]) is Unpack:
            fields = get_type_hints(get_args(hints[name])[0], include_extras=True)
            given.update({key: (hint, "None", True) for key, hint in fields.items()})
        else:
            default = "" if parameter.default is parameter.empty else repr(parameter.default)
            given[name] = (hints[name], default, parameter.kind is parameter.KEYWORD_ONLY)
    own = request.fields_by_name
    apart = {*given, MASK, READ_MASK, EXPECTED}
    resource = next((each for each in request.fields if each.message_type and each.name not in apart), None)
    for name, (hint, default, by_name) in given.items():
        inside = message_of(resource).fields_by_name if resource else {}
        if name in own:
            path: tuple[FieldDescriptor, ...] = (own[name],)
        elif resource and name in inside:
            path = (resource, inside[name])
        elif name == "after":
            path = (own["after_position"],)
        else:
            path = (own["id"],) if "id" in own else (resource, inside["id"])  # type: ignore[assignment]
        yield Parameter(name, hint, path, default, by_name)


def message_of(field: FieldDescriptor) -> Descriptor:
    """Returns the message type of a field."""
    assert field.message_type is not None
    return field.message_type


def holder_of(field: FieldDescriptor) -> Descriptor:
    """Returns the message that a field belongs to."""
    assert field.containing_type is not None
    return field.containing_type


def changeable(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Returns the arguments that an update changes: the resource's fields except its id."""
    return [each for each in parameters if len(each.path) == 2 and each.path[1].name != "id"]


def has_mask(parameters: Sequence[Parameter]) -> bool:
    """Returns whether a request says which fields to change."""
    return any(MASK in holder_of(each.path[0]).fields_by_name for each in parameters)


def signature(parameters: Sequence[Parameter]) -> str:
    """Returns the arguments of a function as text."""
    listed, by_name = [], False
    for each in parameters:
        if each.by_name and not by_name:
            listed.append("*")
            by_name = True
        listed.append(each.name + (f"={each.default}" if each.default else ""))
    return ", ".join(listed)


def field_of(message: Descriptor, attribute: str, hint: Any) -> FieldDescriptor:
    """Returns the field of a message that holds a value's attribute."""
    name = attribute if attribute in message.fields_by_name else "create_time"
    if name != attribute and plainest(hint) is not datetime:
        raise ValueError(f"{message.full_name} has no field {attribute}")
    return message.fields_by_name[name]


def plainest(hint: Any) -> Any:
    """Returns a type without its annotations, and without None."""
    hint = without_none(hint)
    return plainest(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def is_optional(hint: Any) -> bool:
    """Returns whether a type allows None."""
    if get_origin(hint) is Annotated:
        return is_optional(get_args(hint)[0])
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def without_none(hint: Any) -> Any:
    """Returns a type without None."""
    if get_origin(hint) is Annotated and is_optional(hint):
        return without_none(get_args(hint)[0])
    if not is_optional(hint):
        return hint
    (only,) = (each for each in get_args(hint) if each is not type(None))
    return only


def is_value(hint: Any) -> bool:
    """Returns whether a type is one of the shop's values with fields."""
    plain = plainest(hint)
    return isinstance(plain, type) and plain.__module__.startswith("shop.") and not issubclass(plain, StrEnum)


def is_whole(hint: Any) -> bool:
    """Returns whether a moment has whole seconds."""
    notes = get_args(without_none(hint))[1:] if get_origin(without_none(hint)) is Annotated else ()
    return any(isinstance(note, Meta) and (note.extra_json_schema or {}).get("pattern") == INSTANT for note in notes)


def snake(name: str) -> str:
    """Returns a name of the contract as Python spells it: `GetProduct` as get_product."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
