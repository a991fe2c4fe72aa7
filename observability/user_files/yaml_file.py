"""YAML files that users write, read with the line numbers that a good message needs, and with limits on their cost.

Every message begins with `FILE:LINE:`, then names the place in the file, the mistake, and what is valid. Each package
passes in its own class of errors for users' mistakes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from user_files.words import describe, in_quotes

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_PROBLEMS = 20
"""Maximum number of mistakes listed for a file."""

Place = Sequence[object]
"""Keys from the outermost mapping inwards; an entry of a list by its index, from 0."""


class YamlFile:
    """A YAML file as plain data, and the line of each of its values.

    Args:
        source: Name of the file, for messages.
        text: Contents of the file.
        error: Makes the error to raise, from its message.

    Raises:
        Exception: As `error` makes it: the text is not YAML, has a key twice, has aliases, or is nested too deeply.
    """

    def __init__(self, source: str, text: str, error: Callable[[str], Exception]) -> None:
        self.source, self.text, self._error = source, text, error
        try:
            _require_small(text)
            self.data: Any = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
        except (yaml.YAMLError, ValueError) as problem:
            # The ValueError of a scalar that looks like a number but is not has no mark.
            mark = getattr(problem, "problem_mark", None)
            # If the end of the text is missing, the mark is on the line after the last.
            where = f":{min(mark.line, text.count(chr(10))) + 1}" if mark is not None else ""
            why = getattr(problem, "problem", None) or str(problem).splitlines()[0]
            raise error(f"{source}{where}: not valid YAML: {why}") from problem

    @classmethod
    def read(cls, path: Path, error: Callable[[str], Exception], max_bytes: int = MAX_BYTES) -> YamlFile:
        """Reads a file.

        Args:
            path: The file.
            error: Makes the error to raise, from its message.
            max_bytes: Maximum size of the file.

        Raises:
            Exception: As `error` makes it: the file cannot be read, is too large, not UTF-8, or not YAML.
        """
        try:
            with path.open("rb") as opened:
                raw = opened.read(max_bytes + 1)
        except OSError as problem:
            raise error(f"{path}: cannot be read: {problem.strerror}") from problem
        if len(raw) > max_bytes:
            raise error(f"{path}: is larger than {max_bytes} bytes, the limit for such a file")
        try:
            return cls(str(path), raw.decode(), error)
        except UnicodeDecodeError as problem:
            line = raw.count(b"\n", 0, problem.start) + 1
            raise error(f"{path}:{line}: not valid YAML: the file is not in UTF-8") from problem

    def entries(self, names: str, *place: object) -> dict[str, Any]:
        """Gives the entries of a mapping whose keys are texts.

        Args:
            names: Name of the mapping's entries, for messages.
            place: Place of the mapping.

        Raises:
            Exception: The value at the place is not such a mapping.
        """
        data = self.data
        for key in place:
            data = data[key]
        if not isinstance(data, dict):
            raise self.wrong(f"must be a mapping of {names}, not {describe(data)}", *place)
        for key in data:
            if not isinstance(key, str):
                raise self.wrong(f"the key must be text, not {describe(key)}{in_quotes(key)}", *place, key)
        return data

    def wrong(self, problem: str, *place: object) -> Exception:
        """Makes the error for a mistake at a place."""
        return self.all_wrong([(place, problem)])

    def all_wrong(self, problems: Sequence[tuple[Place, str]]) -> Exception:
        """Makes the error for several mistakes, in the order of their lines."""
        lines = sorted((self.line_of(place), at) for at, (place, _) in enumerate(problems))
        messages = [self._message(line, *problems[at]) for line, at in lines[:MAX_PROBLEMS]]
        if len(lines) > MAX_PROBLEMS:
            messages.append(f"{self.source}: and {len(lines) - MAX_PROBLEMS} more mistakes")
        return self._error("\n".join(messages))

    def _message(self, line: int, place: Place, problem: str) -> str:
        return ": ".join(filter(None, (f"{self.source}:{line}", self._path(place), problem)))

    def _path(self, place: Place) -> str:
        """Writes a place in readable form, such as `mix[0].weight`."""
        path, data = "", self.data
        for key in place:
            is_list = isinstance(data, list)
            is_plain = isinstance(key, str) and key.isprintable()
            path += f"[{key}]" if is_list else f".{key if is_plain else describe(key)}"
            is_there = is_list or (isinstance(data, dict) and key in data)
            data = data[key] if is_there else None
        return path.removeprefix(".")

    def line_of(self, place: Place) -> int:
        """Finds the line, from 1, of the value at a place; if it is missing, of its nearest parent."""
        node, line = self._root, 1
        for wanted in place:
            if isinstance(node, yaml.SequenceNode) and isinstance(wanted, int) and wanted < len(node.value):
                node = node.value[wanted]
                line = node.start_mark.line + 1
                continue
            if not isinstance(node, yaml.MappingNode):
                break
            entry = next(((key, value) for key, value in node.value if key.value == _spell(wanted, key)), None)
            if entry is None:
                break
            line, node = entry[0].start_mark.line + 1, entry[1]
        return line

    @cached_property
    def _root(self) -> yaml.Node | None:
        return yaml.compose(self.text, Loader=yaml.CSafeLoader)


def _spell(wanted: object, key: yaml.Node) -> object:
    """Gives a key as its file writes it: YAML has several ways to write a number."""
    if isinstance(wanted, str) or not isinstance(key, yaml.ScalarNode):
        return wanted
    return key.value if yaml.load(key.value, Loader=_StrictLoader) == wanted else None  # noqa: S506 - a SafeLoader


class _StrictLoader(yaml.CSafeLoader):
    """Reads values by the rules of JSON: dates, `12:30` and `0041` are texts, and numbers are finite.

    A key that appears twice in a mapping is refused; other YAML readers silently keep the last value.
    """

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        value = float(super().construct_yaml_float(node))
        if not math.isfinite(value):
            raise yaml.MarkedYAMLError(problem=f"{node.value} is not a finite number", problem_mark=node.start_mark)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} appears twice", problem_mark=key.start_mark)
            keys.add(str(key.value))
            if key.tag == "tag:yaml.org,2002:bool":
                key.tag = "tag:yaml.org,2002:str"  # `no` and `on` are names
        return super().construct_mapping(node, deep)


# YAML 1.1 would read 12:30 as 750, 0041 as 33 and 1_000 as 1000; JSON has no dates and only decimal numbers.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":int", ":float"))]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_INT = "tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9][0-9]*)$"), list("-+0123456789")
_FLOAT = (
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"),
    list("-+.0123456789"),
)
_StrictLoader.add_implicit_resolver(*_INT)
_StrictLoader.add_implicit_resolver(*_FLOAT)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _StrictLoader.construct_yaml_float)


class StrictDumper(yaml.SafeDumper):
    """Writes YAML for `YamlFile`: texts that it would read as numbers are in quotes."""


StrictDumper.add_implicit_resolver(*_FLOAT)


def _require_small(text: str) -> None:
    """Refuses aliases and deep nesting, which take memory out of proportion to the file.

    Raises:
        yaml.MarkedYAMLError: The text has an alias, or is nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        at: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not accepted; write the value out", problem_mark=at)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"it is nested more than {MAX_DEPTH} levels deep", problem_mark=at)
