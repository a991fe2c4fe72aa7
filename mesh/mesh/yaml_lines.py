"""YAML with the line numbers that a good error message needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import yaml


class _UniqueLoader(yaml.SafeLoader):
    """Refuses a key that appears twice in one mapping; YAML readers keep the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} appears twice", problem_mark=key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep)


def load_unique(text: str) -> Any:
    """Load YAML as plain data, and refuse keys that appear twice.

    Raises:
        yaml.YAMLError: It is not YAML, or a key appears twice.
    """
    return yaml.load(text, Loader=_UniqueLoader)  # noqa: S506 - a SafeLoader


def line_of(text: str, path: Iterable[object]) -> int:
    """The line, counted from 1, of the value at a path of keys; if it is not there, of its nearest parent."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for wanted in path:
        if not isinstance(node, yaml.MappingNode):
            break
        entry = next(((key, value) for key, value in node.value if key.value == str(wanted)), None)
        if entry is None:
            break
        line, node = entry[0].start_mark.line + 1, entry[1]
    return line
