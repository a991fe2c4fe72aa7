"""YAML files that users write, read so that a mistake is told by its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hops.errors import InputError

if TYPE_CHECKING:
    import yaml


def composed(path: Path) -> yaml.Node | None:
    """The topmost node of a file; None if it is empty.

    Raises:
        InputError: It is not YAML; names the line.
        OSError: It cannot be read.
    """
    import yaml

    try:
        return yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not YAML: {error}") from error


def entries(node: yaml.Node, path: Path, what: str) -> Iterator[tuple[str, str, yaml.Node]]:
    """Name, place and value of each entry of a mapping.

    Args:
        node: The mapping.
        path: Its file.
        what: What its names are names of, for messages.

    Raises:
        InputError: It is no mapping, or a name is there twice or is none; names the line.
    """
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{path}:{node.start_mark.line + 1}: needs names of {what}, each with a colon and what it has")
    seen = set()
    for key, value in node.value:
        place = f"{path}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode) or key.value in seen:
            raise InputError(f"{place}: {key.value!r} is there twice, or no name")
        seen.add(key.value)
        yield key.value, place, value
