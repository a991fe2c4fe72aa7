"""A file of names: which services and operations are one, and what a part is called.

```yaml
services:                       # service, by name or pattern: what it is called instead
  "cart-*": cart
operations:                     # name of a span, likewise; the root's names the operation
  "GET /users/*": GET /users/{id}
parts:                          # part, likewise
  "external:*→*.stripe.com": external:stripe
```
The first pattern that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hops.budget.parts import UNATTRIBUTED
from hops.budget.user_yaml import composed, entries
from hops.errors import InputError
from hops.traces.span import Span

if TYPE_CHECKING:
    import yaml

SECTIONS = ("services", "operations", "parts")
KINDS = ("work", "wire", "db", "cache", "queue", "messaging", "external")
"""What stands before the colon of a part."""
TEXT = "tag:yaml.org,2002:str"


class Names:
    """The patterns of one section, and which of them fitted anything."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._rules = [(pattern, re.compile(translate(pattern)), name) for pattern, name in patterns.items()]
        self._known: dict[str, str] = {}
        self.used: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, name: str) -> str:
        """What a name is called instead; itself if no pattern fits."""
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
        """Patterns that fitted nothing."""
        return [pattern for pattern, _, _ in self._rules if pattern not in self.used]


class NameMap:
    """What a file of names says.

    Args:
        sections: Patterns and names of each of `SECTIONS`; sections without any may be left out.
    """

    def __init__(self, sections: Mapping[str, Mapping[str, str]] | None = None) -> None:
        of = sections or {}
        self.services, self.operations, self.parts = (Names(of.get(name, {})) for name in SECTIONS)

    def renamed(self, spans: list[Span]) -> list[Span]:
        """Spans with the names of their services and operations."""
        if not (self.services or self.operations):
            return spans
        return [
            replace(span, service=self.services.of(span.service), name=self.operations.of(span.name)) for span in spans
        ]

    @property
    def unused(self) -> list[str]:
        """Patterns that fitted nothing, each with its section."""
        return [f"{section}: {pattern}" for section in SECTIONS for pattern in getattr(self, section).unused]


def read_names(path: Path) -> NameMap:
    """Reads a file of names.

    Raises:
        InputError: It is no YAML, or has other sections or values; the message names the line and the choices.
        OSError: It cannot be read.
    """
    document = composed(path)
    if document is None:
        return NameMap()
    sections: dict[str, dict[str, str]] = {}
    for section, place, patterns in entries(document, path, ", ".join(SECTIONS)):
        if section not in SECTIONS:
            raise InputError(f"{place}: {section!r} is no section; choose from {', '.join(SECTIONS)}")
        sections[section] = {
            pattern: _name(section, pattern, value, line)
            for pattern, line, value in entries(patterns, path, f'{section}, such as "cart-*": cart')
        }
    return NameMap(sections)


def _name(section: str, pattern: str, node: yaml.Node, place: str) -> str:
    """What a pattern's names are called instead."""
    name = node.value
    if not (node.tag == TEXT and pattern and name):
        raise InputError(f"{place}: {pattern!r}: {name!r}: both must be text; put numbers in quotes")
    if section == "parts" and name != UNATTRIBUTED and name.partition(":")[0] not in KINDS:
        raise InputError(
            f"{place}: {name!r} is no part; one begins with {', '.join(f'{kind}:' for kind in KINDS)} "
            f"or is {UNATTRIBUTED}"
        )
    return str(name)
