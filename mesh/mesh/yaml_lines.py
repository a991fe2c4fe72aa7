"""YAML with the line numbers that a good error message needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml


class DuplicateKeyError(Exception):
    """A key stands twice in one mapping.

    Args:
        key: the key.
        line: the second one's line, from 1 on.
    """

    def __init__(self, key: str, line: int) -> None:
        super().__init__(f"the key {key!r} is there twice")
        self.line = line


def load_unique(text: str) -> Any:
    """Load YAML as plain data, and refuse keys that stand twice (YAML readers keep the last, silently).

    Raises:
        yaml.YAMLError: it is not YAML.
        DuplicateKeyError: a key stands twice.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None:
        _check_unique(root, set())
    return yaml.safe_load(text)


def line_of(text: str, path: Iterable[object]) -> int:
    """The line, from 1 on, of the value at a path of keys; of the nearest parent that exists, else."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for key in path:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((k, v) for k, v in node.value if k.value == str(key)), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _check_unique(node: yaml.Node, seen: set[int]) -> None:
    if id(node) in seen:  # an alias may lead back to its own parent
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if key.value in keys:
                raise DuplicateKeyError(str(key.value), key.start_mark.line + 1)
            keys.add(key.value)
            _check_unique(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _check_unique(child, seen)
