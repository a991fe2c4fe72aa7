"""A file of names, which merges services or operations under one name, and renames parts.

docs/results/your-own-traces.md has an example. The first pattern that matches counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import translate
from pathlib import Path

from msgspec.structs import replace

from hops.budget.parts import UNATTRIBUTED
from hops.errors import InputError
from hops.traces.span import Span
from user_files.words import describe, in_quotes, valid

SECTIONS = ("services", "operations", "parts")
KINDS = ("work", "wire", "db", "cache", "queue", "messaging", "external", "proxy")
"""Kinds of parts: the text before the colon."""


class Names:
    """The patterns of one section, and which of them matched."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._rules = [(pattern, re.compile(translate(pattern)), name) for pattern, name in patterns.items()]
        self._known: dict[str, str] = {}
        self.used: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, name: str) -> str:
        """Returns the new name; the name itself if no pattern matches."""
        if name not in self._known:
            self._known[name] = name
            for pattern, fits, instead in self._rules:
                if fits.match(name):
                    self._known[name] = instead
                    self.used.add(pattern)
                    break
        return self._known[name]

    @property
    def unused(self) -> list[str]:
        """Patterns that matched nothing."""
        return [pattern for pattern, _, _ in self._rules if pattern not in self.used]


class NameMap:
    """The contents of a file of names: patterns and names of each of `SECTIONS`; empty sections may be left out."""

    def __init__(self, sections: Mapping[str, Mapping[str, str]] | None = None) -> None:
        of = sections or {}
        self.services, self.operations, self.parts = (Names(of.get(name, {})) for name in SECTIONS)

    def rename(self, spans: list[Span]) -> list[Span]:
        """Renames the services and operations of spans."""
        if not (self.services or self.operations):
            return spans
        return [
            replace(span, service=self.services.of(span.service), name=self.operations.of(span.name)) for span in spans
        ]

    @property
    def unused(self) -> list[str]:
        """Patterns that matched nothing, each with its section."""
        return [f"{section}: {pattern}" for section in SECTIONS for pattern in getattr(self, section).unused]


def read_names(path: Path) -> NameMap:
    """Reads a file of names; raises `InputError`, which names the line and the choices."""
    from user_files.yaml_file import YamlFile

    file = YamlFile.read(path, InputError)
    if file.data is None:
        return NameMap()
    problems: list[tuple[tuple[str, ...], str]] = []
    sections = file.entries(f"sections, which are {', '.join(SECTIONS)}")
    for section in sections:
        if section not in SECTIONS:
            problems.append(((section,), f"is not a section; {valid(section, SECTIONS)}"))
            continue
        for pattern, name in file.entries('patterns and names, such as "cart-*": cart', section).items():
            if not (isinstance(name, str) and pattern and name):
                problems.append(((section, pattern), f"must be text, not {describe(name)}{in_quotes(name)}"))
            elif section == "parts" and name != UNATTRIBUTED and name.partition(":")[0] not in KINDS:
                begins = ", ".join(f"{kind}:" for kind in KINDS)
                text = f"{describe(name)} is not a part; a part begins with {begins} or is {UNATTRIBUTED}"
                problems.append(((section, pattern), text))
    if problems:
        raise file.all_wrong(problems)
    return NameMap(sections)
