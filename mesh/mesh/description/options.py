"""Options of commands: the options in the table of commands, and options that several commands share."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

from hopwise.table import COMMANDS, TARGETS, Setting
from mesh.description.switches import settings_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Given: TypeAlias = Mapping[str, str | None]
"""The user's value for each switch, by its name; None where the user gave no value."""
_SWITCHES = "switches"


def takes_settings(
    command: str, *, plan: Callable[..., Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a function an option for each setting that a command has in the table.

    A setting goes to the parameter with its name, with the parameter's type and bounds, or to a parameter's dataclass
    that has a field with this name. A setting without such a place goes to `switches` if it is a switch, else to the
    keyword arguments.

    Args:
        command: Name of the row.
        plan: A second function, whose parameters the first function takes as keyword arguments.

    Raises:
        TypeError: A setting has no parameter, or a parameter has no setting.
    """
    row, settings = TARGETS.get(command) or COMMANDS[command], settings_of(command)
    defaults = {setting.name: setting.default or None for setting in row.settings}
    own = {setting.name for setting in row.settings if isinstance(setting, Setting)}
    named = {setting.name.replace("-", "_"): setting for setting in settings}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        parameters = {name: one for of in (function, plan) if of is not None for name, one in _parameters(of)}
        takes_any = parameters.pop("**", None) is not None
        types = {name: one.annotation for name, one in parameters.items() if name in named}
        groups: dict[str, Any] = {
            name: one.annotation for name, one in parameters.items() if is_dataclass(one.annotation)
        }
        members = {
            name: [field.name for field in fields(group) if field.name in named and field.name not in types]
            for name, group in groups.items()
        }
        for name, group in groups.items():
            types |= {member: get_type_hints(group)[member] for member in members[name]}
        rest = [name for name in named if name not in types]
        switches = [name for name in rest if _SWITCHES in parameters and named[name].name not in own]
        kept = [one for name, one in parameters.items() if name not in named and _is_of_typer(one)]
        lacking = [
            name
            for name, one in parameters.items()
            if name not in {*named, *groups, _SWITCHES} and one not in kept and one.default is one.empty
        ]
        unplaced = [] if takes_any else [name for name in rest if name not in switches]
        if at_odds := sorted([*lacking, *unplaced]):
            raise TypeError(f"the command {command} and its row in the table do not agree on {', '.join(at_odds)}")

        @wraps(function)
        def with_options(**given: Any) -> None:
            made = {name: group(**{one: given.pop(one) for one in members[name]}) for name, group in groups.items()}
            if _SWITCHES in parameters:
                made[_SWITCHES] = {named[name].name: given.pop(name) for name in switches}
            function(**given, **made)

        options = [
            _option(setting, types.get(name, str | None), defaults.get(setting.name), name)
            for name, setting in named.items()
        ]
        # typer reads the options from this signature.
        with_options.__signature__ = inspect.Signature([*options, *kept])  # type: ignore[attr-defined]
        return with_options

    return decorate


def _parameters(function: Callable[..., Any]) -> Iterator[tuple[str, inspect.Parameter]]:
    """The parameters of a function by name; `**` stands for any keyword argument."""
    for name, one in inspect.signature(function, eval_str=True).parameters.items():
        yield ("**" if one.kind is one.VAR_KEYWORD else name), one


def _option(setting: Setting, annotation: Any, default: str | None, argument: str) -> inspect.Parameter:
    kind, about = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, typer.Option())
    option = copy.copy(about)
    option.help, option.param_decls = setting.help, (f"--{setting.name}",)
    return inspect.Parameter(
        argument,
        inspect.Parameter.KEYWORD_ONLY,
        default="" if default is None and kind is str else default,
        annotation=Annotated[kind, option],
    )


def _is_of_typer(parameter: inspect.Parameter) -> bool:
    return parameter.annotation is typer.Context or any(
        isinstance(one, ParameterInfo) for one in get_args(parameter.annotation)
    )
