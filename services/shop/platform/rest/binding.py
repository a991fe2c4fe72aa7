"""Binds the parameters of paths and queries as FastAPI does, by what their declarations say once and for all.

FastAPI reads the declarations anew for every request, which takes as long as all else that it does for a small read.
Only what is valid is bound here; any other request is left to FastAPI, which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from fastapi.dependencies.models import Dependant

from shop.platform.rest.call import Call

Validate = Callable[[Any], tuple[Any, Any]]
"""Returns the value of a parameter, and what is wrong with it."""

# A default that could be changed would have to be copied for each request.
_UNCHANGING = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Binding:
    """The arguments of an endpoint that takes parameters of its path and query, and nothing else but the request.

    Attributes:
        request: The argument that takes the request; None if there is none.
        path: The parameters of the path: their names there, their arguments and their checks.
        query: Those of the query, by their names there.
        defaults: The arguments that the query may leave out, with their values.
        required: The names of the parameters that the query must have.
    """

    request: str | None
    path: tuple[tuple[str, str, Validate], ...]
    query: Mapping[str, tuple[str, Validate]]
    defaults: Mapping[str, Any]
    required: frozenset[str]

    @classmethod
    def of(cls, dependant: Dependant) -> Binding | None:
        """Returns the binding of an endpoint; None if it takes more than is bound here.

        Args:
            dependant: The endpoint as FastAPI reads it.
        """
        others = (
            dependant.header_params,
            dependant.cookie_params,
            dependant.body_params,
            dependant.dependencies,
            dependant.http_connection_param_name,
            dependant.background_tasks_param_name,
            dependant.response_param_name,
            dependant.security_scopes_param_name,
        )
        fields = [*dependant.path_params, *dependant.query_params]
        if any(others) or not iscoroutinefunction(dependant.call) or not all(_is_plain(field) for field in fields):
            return None
        return cls(
            dependant.request_param_name,
            tuple((field.alias, field.name, field.validate) for field in dependant.path_params),
            {field.alias: (field.name, field.validate) for field in dependant.query_params},
            {field.name: field.default for field in dependant.query_params if not field.field_info.is_required()},
            frozenset(field.alias for field in dependant.query_params if field.field_info.is_required()),
        )

    def arguments(self, call: Call, query: Mapping[str, str]) -> dict[str, Any] | None:
        """Returns the endpoint's arguments for a request; None if a parameter is missing or not valid.

        Args:
            call: The request.
            query: The parameters of its query, each of which the endpoint knows.
        """
        values: dict[str, Any] = dict(self.defaults)
        given: Mapping[str, str] = call.scope["path_params"]
        for alias, name, validate in self.path:
            values[name], errors = validate(given[alias])
            if errors:
                return None
        for alias, text in query.items():
            name, validate = self.query[alias]
            values[name], errors = validate(text)
            if errors:
                return None
        if not self.required <= query.keys():
            return None
        if self.request is not None:
            values[self.request] = call
        return values


def _is_plain(field: Any) -> bool:
    """Whether a parameter has one name and one value, whose default is as good as a copy of it."""
    info = field.field_info
    return (
        info.annotation in (str, int, str | None, int | None)
        and info.validation_alias in (None, info.alias)
        and not info.validate_default
        and (info.is_required() or isinstance(field.default, _UNCHANGING))
    )
