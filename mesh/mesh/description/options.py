"""Options that commands have in common, those for the switches among them; None stands for a switch's default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeAlias

import typer

from mesh.description.switches import switches_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
TopologyName = Annotated[str, typer.Option(help="Topology: a name in mesh/topologies/, or the path of a YAML file.")]
Given: TypeAlias = Mapping[str, str | None]
"""What a user gave for each switch, by its name; None where nothing was given."""


def takes_switches(command: str, **defaults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command an option for each switch that it takes, in place of its parameter `switches`.

    Args:
        command: The command's name, as in `mesh.description.switches`.
        defaults: What stands for an option that is not given, where that is not the switch's own default.

    Raises:
        TypeError: A default is for a switch that the command does not take.
    """
    if unknown := defaults.keys() - {switch.name for switch in switches_of(command)}:
        raise TypeError(f"{command} does not take the switch {', '.join(sorted(unknown))}")
    options = [
        inspect.Parameter(
            switch.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(switch.name),
            annotation=Annotated[str | None, typer.Option(f"--{switch.name}", help=switch.help)],
        )
        for switch in switches_of(command)
    ]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def with_options(**given: Any) -> None:
            switches = {option.name: given.pop(option.name) for option in options}
            function(**given, switches=switches)

        signature = inspect.signature(function, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            mine = options if parameter.name == "switches" else [parameter]
            parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in mine]
        # By this, typer knows the options.
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return with_options

    return decorate
