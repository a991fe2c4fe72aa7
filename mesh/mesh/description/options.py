"""Options of commands: those of a row of the table of commands, and what several have besides."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import typer
from typer.models import ParameterInfo

from hopwise.table import COMMANDS, TARGETS, Setting
from mesh.description.switches import settings_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Given: TypeAlias = Mapping[str, str | None]
"""What a user gave for each switch, by its name; None where nothing was given."""


def takes_settings(command: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a function an option for each setting that a command has in the table.

    A setting goes to the parameter of its name, whose type and bounds hold. Without one, a switch goes to the parameter
    `switches`, by its name, and any other setting to the keyword arguments.

    Args:
        command: Name of the row.

    Raises:
        TypeError: A setting has no parameter, or a parameter no setting.
    """
    row, settings = TARGETS.get(command) or COMMANDS[command], settings_of(command)
    defaults = {setting.name: setting.default or None for setting in row.settings}
    switches = {setting.name for setting in settings} - {one.name for one in row.settings if isinstance(one, Setting)}
    arguments = {setting.name: setting.name.replace("-", "_") for setting in settings}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters
        kept = [each for each in own.values() if each.name not in arguments.values() and _is_of_typer(each)]
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in own.values())
        placed = {*own, *(switches if "switches" in own else ()), *(arguments.values() if takes_any else ())}
        given = {"switches", *arguments.values(), *(each.name for each in kept)}
        required = {each.name for each in own.values() if each.default is each.empty and each.kind is each.KEYWORD_ONLY}
        if at_odds := sorted({*arguments.values()} - placed | required - given):
            raise TypeError(f"the command {command} and its row of the table do not agree on {', '.join(at_odds)}")

        @wraps(function)
        def with_options(**given: Any) -> None:
            together = {name: given.pop(name) for name in switches if name not in own}
            function(**given, **({"switches": together} if "switches" in own else together))

        options = [
            _option(setting, own.get(arguments[setting.name]), defaults.get(setting.name), arguments[setting.name])
            for setting in settings
        ]
        # By this, typer knows the options.
        with_options.__signature__ = inspect.Signature([*options, *kept])  # type: ignore[attr-defined]
        return with_options

    return decorate


def _option(setting: Setting, own: inspect.Parameter | None, default: str | None, argument: str) -> inspect.Parameter:
    annotation = str | None if own is None else own.annotation
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
