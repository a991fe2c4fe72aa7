"""YAML that people write: read with the line numbers that a good message needs, and bounded in what it may cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

MOST_BYTES = 64 * 1024
MOST_DEPTH = 16


class YamlError(ValueError):
    """A text is not YAML, or more than any file of ours needs; the message names file, line and reason."""


class _StrictLoader(yaml.CSafeLoader):
    """Reads the values that JSON has: a date is a text, and a number is finite.

    A key that appears twice in one mapping, of which YAML readers keep the last one silently, is refused.
    """

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        value = float(super().construct_yaml_float(node))
        if not math.isfinite(value):
            raise yaml.MarkedYAMLError(problem=f"{node.value} is no finite number", problem_mark=node.start_mark)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} appears twice", problem_mark=key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep)


# What looks like a date stays a text, as JSON has no dates.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _StrictLoader.construct_yaml_float)


def read_yaml(file: Path) -> str:
    """Reads the text of a YAML file.

    Raises:
        YamlError: It is no UTF-8, or too large.
        OSError: It cannot be read.
    """
    with file.open("rb") as opened:
        raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise YamlError(f"{file}: has more than {MOST_BYTES} bytes, which no such file needs")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise YamlError(f"{file}:{line}: not valid YAML: not UTF-8") from error


def load_yaml(text: str, source: str) -> Any:
    """Loads YAML as plain data.

    Args:
        text: The YAML.
        source: Name of the file, for messages.

    Raises:
        YamlError: It is not YAML, a key appears twice, it has aliases, or it is nested too deeply.
    """
    try:
        _require_small(text)
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError) as error:
        # Some scalars look like a number that none is.
        mark = getattr(error, "problem_mark", None)
        # What is missing at the end is missing on the line behind it.
        where = f":{min(mark.line, text.count(chr(10))) + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise YamlError(f"{source}{where}: not valid YAML: {problem}") from error


def _require_small(text: str) -> None:
    """Refuses what takes memory out of proportion to the file, as it is read: aliases and deep nesting.

    Raises:
        yaml.MarkedYAMLError: There is such a thing.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        at: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not accepted; write the value out", problem_mark=at)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=at)


def line_of(text: str, path: Iterable[object]) -> int:
    """The line, counted from 1, of the value at a path of keys; if it is not there, of its nearest parent.

    Args:
        text: YAML that `load_yaml` has accepted.
        path: Keys from the outermost mapping inwards; of a list, the place of an item, counted from 0.
    """
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    line = 1
    for wanted in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(wanted, int) and wanted < len(node.value):
            node = node.value[wanted]
            line = node.start_mark.line + 1
            continue
        if not isinstance(node, yaml.MappingNode):
            break
        entry = next(((key, value) for key, value in node.value if key.value == str(wanted)), None)
        if entry is None:
            break
        line, node = entry[0].start_mark.line + 1, entry[1]
    return line


def explained(
    error: ValidationError, text: str, source: str, what: Callable[[Any, Sequence[Any]], str]
) -> Iterator[str]:
    """What a model finds wrong in a YAML text, each mistake with its line and its place.

    Args:
        error: What the model says.
        text: The text.
        source: Name of the text.
        what: Says what is wrong, of one of pydantic's mistakes and the keys that lead to it.
    """
    mistakes = error.errors()
    for item in mistakes:
        place = item["loc"]
        if any(len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in mistakes):
            continue  # pydantic says of a list whose items are wrong that it is too short
        where = [key for key in item["loc"] if key != "[key]"]
        yield f"{source}:{line_of(text, where)}: {'.'.join(map(str, where))}: {what(item, where)}"
