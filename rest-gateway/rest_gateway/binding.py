"""From a request to the arguments of a route's function.

The routes are declared with FastAPI, which makes their parameters and the OpenAPI document; here they are called
without its dependency solver and middleware. Measured for a route with a path and a query parameter and an empty
answer: 82 µs of processor time a request through FastAPI, against 10 µs for a bare Starlette route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi.routing import APIRoute
from pydantic import BaseModel

from rest_gateway.body import read_json, sentence
from rest_gateway.call import Call
from rest_gateway.problems import FieldError, InvalidRequest

MAX_QUERY_PARAMETERS = 20


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the path, the query or the headers.

    Attributes:
        argument: The function's argument.
        name: What clients call it.
        header: The header's name in lower case; empty for a parameter of path or query.
        required: Whether it must be there.
        default: The value without it.
        check: Returns the value and what is wrong with it.
    """

    argument: str
    name: str
    header: bytes
    required: bool
    default: Any
    check: Callable[[Any], tuple[Any, list[dict[str, Any]]]]


class Binding:
    """What a route's function takes.

    Args:
        route: The route as it was declared.

    Raises:
        TypeError: The function takes something that is not bound here.
    """

    def __init__(self, route: APIRoute) -> None:
        takes = route.dependant
        if takes.dependencies or takes.cookie_params or len(takes.body_params) > 1:
            raise TypeError(f"{route.name} takes dependencies, cookies or several bodies; none of them is bound here")
        self._call = takes.request_param_name
        self._path = [_parameter(field) for field in takes.path_params]
        self._query = {field.alias: _parameter(field) for field in takes.query_params}
        self._headers = [_parameter(field, header=True) for field in takes.header_params]
        self._body: tuple[str, type[BaseModel]] | None = None
        for field in takes.body_params:
            model = field.field_info.annotation
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise TypeError(f"the body of {route.name} is no model")
            self._body = (field.name, model)

    async def arguments(self, call: Call) -> dict[str, Any]:
        """Returns the function's arguments.

        Raises:
            InvalidRequest: Something is missing, unknown or out of range; all of it is named.
            ShopError: The body cannot be read (`read_json`).
        """
        errors: list[FieldError] = []
        arguments: dict[str, Any] = {}
        if self._call:
            arguments[self._call] = call
        for parameter in self._path:
            _bind(parameter, call.path_values.get(parameter.name), arguments, errors)
        query = _query(call.scope["query_string"], self._query, errors)
        for name, parameter in self._query.items():
            _bind(parameter, query.get(name), arguments, errors)
        for parameter in self._headers:
            _bind(parameter, call.header(parameter.header), arguments, errors)
        if errors:
            raise InvalidRequest(errors)
        if self._body:
            name, model = self._body
            arguments[name] = await read_json(call, model)
        return arguments


def _parameter(field: Any, *, header: bool = False) -> Parameter:
    required = bool(field.field_info.is_required())
    return Parameter(
        argument=field.name,
        name=field.alias,
        header=field.alias.lower().encode() if header else b"",
        required=required,
        default=None if required else field.get_default(),
        check=field.validate,
    )


def _bind(parameter: Parameter, raw: str | None, arguments: dict[str, Any], errors: list[FieldError]) -> None:
    if raw is None:
        if parameter.required:
            kind = "header" if parameter.header else "parameter"
            errors.append(FieldError(parameter.name, f"this {kind} is required; send {parameter.name}"))
        else:
            arguments[parameter.argument] = parameter.default
        return
    value, wrong = parameter.check(raw)
    errors += [FieldError(parameter.name, sentence(one["msg"])) for one in wrong]
    arguments[parameter.argument] = value


def _query(raw: bytes, known: Mapping[str, Parameter], errors: list[FieldError]) -> dict[str, str]:
    if not raw:
        return {}
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        errors.append(FieldError("", f"the query has too many parameters; at most {MAX_QUERY_PARAMETERS} are valid"))
        return {}
    query: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            valid = f"valid ones are {', '.join(known)}" if known else "there are none here"
            errors.append(FieldError(name[:40], f"this query parameter is unknown; {valid}"))
        elif name in query:
            errors.append(FieldError(name, "this query parameter is given twice; give it once"))
        query[name] = value
    return query
