"""A colour of the report means one thing, and readers can distinguish colours, even without red, green or blue."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from coloraide import Color

from hops.analysis import cost
from hops.budget.groups import GROUPS
from hops.report.palette import group_class, looks
from hops.report.sections import resource
from hops.report.templates import source

STYLE, TEXTURES = str(source("style.css")), str(source("textures.svg"))
MIN_CONTRAST = 3.0
"""WCAG 2.2, 1.4.11: contrast of graphic objects."""
MIN_BETWEEN_MEANINGS = 0.05
"""Distance in OKLab between colours of different sets. 0.02 is about the smallest difference that people see."""
MIN_WITHIN_TEXTURE = 0.045
"""Distance in OKLab between fills of the same texture, as seen by readers who lack one kind of cone."""
_COLOR = re.compile(r"--([a-z]+)(\d*): (#[0-9a-f]{6})")
_DATA = ("t", "g", "h")
"""Topologies, groups of parts, and steps of a heat map."""
_WORDS = ("accent", "bad", "warn")


def palette(scheme: str) -> dict[tuple[str, str], Color]:
    """Returns the colours of a scheme, by set and number."""
    light, dark = STYLE.partition("\n* {")[0].split("@media")
    return {(name, number): Color(one) for name, number, one in _COLOR.findall(light if scheme == "light" else dark)}


def texture_of(number: str) -> str:
    """Returns the texture of a fill, without its colour."""
    return re.sub(rf'id="g{number}"|--g{number}\)', "", next(re.finditer(rf'<pattern id="g{number}" .*', TEXTURES))[0])


@pytest.fixture(params=["light", "dark"])
def colors(request: pytest.FixtureRequest) -> dict[tuple[str, str], Color]:
    return palette(request.param)


def test_no_colour_has_two_meanings(colors: dict[tuple[str, str], Color]) -> None:
    sets = {key: color for key, color in colors.items() if key[0] in (*_DATA, *_WORDS)}
    assert {name for name, _ in sets} == {*_DATA, *_WORDS}
    near = [
        (one, other, round(distance, 3))
        for one, other in combinations(sets, 2)
        if one[0] != other[0] and one[0] in _DATA
        if (distance := sets[one].delta_e(sets[other], method="ok")) < MIN_BETWEEN_MEANINGS
    ]
    assert near == []


def test_marks_stand_out_from_the_paper(colors: dict[tuple[str, str], Color]) -> None:
    contrast = {key: color.contrast(colors["paper", ""]) for key, color in colors.items() if key[0] in ("t", "g")}
    assert {key: round(value, 2) for key, value in contrast.items() if value < MIN_CONTRAST} == {}


@pytest.mark.parametrize("lacking", ["protan", "deutan", "tritan"])
def test_fills_of_one_texture_differ_for_every_reader(colors: dict[tuple[str, str], Color], lacking: str) -> None:
    seen = {number: color.filter(lacking) for (name, number), color in colors.items() if name == "g"}
    alike = [
        (one, other, round(distance, 3))
        for one, other in combinations(seen, 2)
        if texture_of(one) == texture_of(other)
        if (distance := seen[one].delta_e(seen[other], method="ok")) < MIN_WITHIN_TEXTURE
    ]
    assert alike == []


def test_every_group_has_a_colour_a_texture_and_a_class(colors: dict[tuple[str, str], Color]) -> None:
    classes = {group_class(group) for group in GROUPS}
    fills = {fill.removeprefix("url(#").removesuffix(")") for fill in resource.fills()}
    assert len(classes) == len(GROUPS)
    assert len(resource.fills()) == len(cost.GROUPS)
    assert classes | fills == {f"g{number}" for name, number in colors if name == "g"}
    assert classes | fills == set(re.findall(r'<pattern id="(g\d+)"', TEXTURES))
    assert classes | fills == set(re.findall(r"^\.(g\d+) \{", STYLE, re.MULTILINE))


def test_topologies_differ_without_colour() -> None:
    eight = looks([f"topology {number}" for number in range(8)])
    for attribute in ("color", "dash", "shape"):
        assert len({getattr(look, attribute) for look in eight}) == len(eight)


def test_colours_of_topologies_and_groups_are_used_for_nothing_else() -> None:
    uses = [line for line in STYLE.splitlines() if re.search(r"var\(--[tgh]\d+\)", line)]
    assert [line for line in uses if not re.match(r"\.(mark\.t\d|g\d+|heat\d)\b", line)] == []
