"""A command's options are the settings of its row in the table."""

from __future__ import annotations

import inspect
from typing import Annotated

import pytest
import typer

from mesh.description.options import Given, Json, takes_settings


def test_settings_go_to_parameters_of_their_names_and_switches_together() -> None:
    seen = {}

    @takes_settings("soak")
    def command(
        *, topologies: str, minutes: str, rate: str | None, switches: Given, as_json: Json = False, **others: str
    ):
        seen.update(topologies=topologies, minutes=minutes, rate=rate, switches=switches, **others)

    parameters = inspect.signature(command).parameters
    assert [*parameters][:2] == ["topologies", "minutes"]
    assert [*parameters][-1] == "as_json"
    command(**{name: parameter.default for name, parameter in parameters.items()})
    assert (seen["topologies"], seen["minutes"], seen["rate"], seen["workload"]) == ("hybrid", "60", "20", "default")
    # A row's default counts as given by the user; the switch's own default does not.
    assert (seen["switches"]["updates"], seen["switches"]["trace"], seen["switches"]["edge"]) == ("on", "0", None)


def test_the_bounds_of_a_parameter_hold() -> None:
    @takes_settings("prove-cache")
    def command(*, races: Annotated[int, typer.Option(min=1)], kills: int, seed: int) -> None:
        pass

    of_races = inspect.signature(command).parameters["races"].annotation.__metadata__[0]
    assert (of_races.min, of_races.help) == (1, "Number of changes that race readers.")


def test_a_function_that_does_not_fit_its_row_is_refused() -> None:
    with pytest.raises(TypeError, match="prove-cache and its row in the table do not agree on crowd, kills"):

        @takes_settings("prove-cache")
        def command(*, races: int, seed: int, crowd: str) -> None:
            pass
