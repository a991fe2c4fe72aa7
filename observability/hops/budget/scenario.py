"""A scenario as a user writes it: command-line options, or the same in a YAML file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from hops.budget.parts import is_entry, part_of
from hops.budget.retiming import Calls, Change, Scenario
from hops.errors import InputError
from hops.traces.tree import Tree
from hops.units import NS_PER_UNIT
from user_files.words import describe, in_quotes, valid

QUEUE = "queue:"
"""Parts of this kind depend on the load, and cannot be changed."""
_CHANGE = re.compile(r"(?P<part>\S.*?)\s+(?P<sign>[+−-])\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>%|[nuµm]?s)")
_COLON = re.compile(r"(?<=\S)\s*:\s*(?=\S)")


class Known(msgspec.Struct):
    """What can be changed in the traces.

    Args:
        calls: The maximum number of calls below one span of a component, by that component and the name of the calls.
    """

    parts: set[str] = set()
    called: set[str] = set()
    calls: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)

    def add(self, tree: Tree) -> None:
        """Adds the parts and calls of one trace."""
        for node in tree.nodes:
            if node is tree.root or is_entry(node):
                self.parts.add(part_of(node))
            self.called.update(map(part_of, node.children))
            below = Counter((node.span.service, child.span.name) for child in node.children)
            for call, count in below.items():
                self.calls[call] = max(self.calls[call], count)

    def part(self, name: str, given: str) -> str:
        """Resolves a part to its name in the traces.

        Args:
            name: Name that the user gave, in which `->` means `→`.

        Raises:
            InputError: No trace has the part; the message names the parts that traces have.
        """
        name = re.sub(r"\s*(->|→)\s*", "→", name.strip())
        if name not in self.parts:
            why = "follows from the load and is not modelled" if name.startswith(QUEUE) else "is in no trace"
            raise InputError(f"{given}: part {name!r} {why}; choose from {', '.join(sorted(self.parts))}")
        return name

    @property
    def components(self) -> set[str]:
        """Components that make calls."""
        return {component for component, _ in self.calls}

    def halves(self, text: str) -> tuple[str, str]:
        """Splits a text at the colon after a component, whose name may contain colons."""
        text = text.strip()
        halves = [(text[: colon.start()], text[colon.end() :]) for colon in _COLON.finditer(text)]
        known = self.components
        return next((half for half in reversed(halves) if half[0] in known), halves[0] if halves else (text, ""))

    def calls_of(self, text: str, given: str) -> Calls:
        """Resolves calls to their names in the traces.

        Args:
            text: `COMPONENT: CALL, CALL, ...`.

        Raises:
            InputError: A call is in no trace; the message names the calls that traces have.
        """
        component, names = self.halves(text)
        if not names:
            raise InputError(f"{given}: write COMPONENT: CALL, CALL, as in 'order: ReserveStock, AuthorizePayment'")
        valid = sorted({name for caller, name in self.calls if caller == component})
        if not valid:
            components = ", ".join(sorted(self.components))
            raise InputError(f"{given}: {component!r} makes no calls in any trace; choose from {components}")
        known = {*valid, *(name.rpartition("/")[2] for name in valid)}
        calls = Calls(component, tuple(_names(names, known)))
        for name in calls.names:
            if name not in known:
                raise InputError(
                    f"{given}: {calls.component} makes no call {name!r} in any trace; choose from {', '.join(valid)}"
                )
        return calls

    def most(self, component: str, name: str) -> int:
        """Gives the maximum number of calls with a given name below any one span of a component."""
        return sum(
            count
            for (caller, one), count in self.calls.items()
            if caller == component and name in (one, one.rpartition("/")[2])
        )


def _names(text: str, known: set[str]) -> Iterator[str]:
    """Splits names at commas; if a known name contains commas, as statements may, the longest match counts."""
    pieces = text.split(",")
    while pieces:
        lengths = range(len(pieces), 1, -1)
        length = next((one for one in lengths if ",".join(pieces[:one]).strip() in known), 1)
        yield ",".join(pieces[:length]).strip()
        del pieces[:length]


def scenario_of(known: Known, changes: Iterable[str], parallel: Iterable[str], removed: Iterable[str]) -> Scenario:
    """Reads a scenario.

    Args:
        changes: Each `PART ±AMOUNT`, the amount in %, ns, us, ms or s.
        parallel: Each `COMPONENT: CALL, CALL, ...`.
        removed: Each `PART` or `COMPONENT: CALL, ...`.

    Raises:
        InputError: A text cannot be read, or no trace has what the text names; the message names it and the valid
            choices.
    """
    by_part: dict[str, Change] = {}
    for text in changes:
        part, change = _change(known, text)
        if part in by_part:
            raise InputError(f"--change {text!r}: {part} is changed twice; give one change for it")
        by_part[part] = change
    in_parallel = tuple(known.calls_of(text, f"--parallel {text!r}") for text in parallel)
    for calls in in_parallel:
        if len(calls.names) < 2:
            raise InputError(f"--parallel: give at least two calls of {calls.component}, comma-separated")
        for name, count in Counter(calls.names).items():
            if (most := known.most(calls.component, name)) < count:
                raise InputError(
                    f"--parallel: no span of {calls.component} makes {count} calls {name!r}; the maximum is {most}"
                )
    parts, gone = set(), []
    for text in removed:
        given = f"--remove {text!r}"
        component, names = known.halves(text)
        if names and component in known.components:
            gone.append(known.calls_of(text, given))
        else:
            part = known.part(text, given)
            if part not in known.called:
                raise InputError(
                    f"{given}: {part} occurs only in root spans, and a trace cannot exist without its root; "
                    f"choose from {', '.join(sorted(known.called & known.parts))}"
                )
            parts.add(part)
    if not (by_part or in_parallel or parts or gone):
        raise InputError("the scenario changes nothing: give --change, --parallel, --remove or --scenario")
    return Scenario(by_part, in_parallel, frozenset(parts), tuple(gone))


def _change(known: Known, text: str) -> tuple[str, Change]:
    match = _CHANGE.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"--change {text!r}: write PART ±AMOUNT, as in 'work:payment -50%' or 'wire:order→payment +2ms'"
        )
    part = known.part(match["part"], f"--change {text!r}")
    amount = float(match["number"]) * (1 if match["sign"] == "+" else -1)
    if match["unit"] != "%":
        return part, Change(added_ns=round(amount * NS_PER_UNIT[match["unit"]]))
    if amount < -100:
        raise InputError(f"--change {text!r}: a part can lose at most all of its time, -100%")
    return part, Change(factor=1 + amount / 100)


Given = tuple[list[str], list[str], list[str]]
"""Changes, parallel calls and removed calls, as the options give them."""


SECTIONS = ("change", "parallel", "remove")


def read_scenario(path: Path, *options: list[str]) -> Given:
    """Adds a file with `change`, `parallel` and `remove` to the options; raises `InputError`, which names the line."""
    from user_files.yaml_file import YamlFile

    file = YamlFile.read(path, InputError)
    if file.data is None:
        return options[0], options[1], options[2]
    given = file.entries(f"sections, which are {', '.join(SECTIONS)}")
    problems: list[tuple[tuple[object, ...], str]] = [
        ((name,), f"is not a section; {valid(name, SECTIONS)}") for name in given if name not in SECTIONS
    ]
    changes = file.entries("parts and amounts, such as work:payment: -50%", "change") if "change" in given else {}
    for part, amount in changes.items():
        if not isinstance(amount, str):
            problems.append((("change", part), f"must be an amount such as -50% or +2ms, not {describe(amount)}"))
    in_parallel = (
        file.entries("components and their calls, such as order: [a, b]", "parallel") if "parallel" in given else {}
    )
    lists: dict[tuple[object, ...], object] = {
        ("parallel", component): calls for component, calls in in_parallel.items()
    }
    if "remove" in given:
        lists["remove",] = given["remove"]
    for place, texts in lists.items():
        if not isinstance(texts, list):
            problems.append((place, f"must be a list, such as [a, b], not {describe(texts)}"))
            continue
        problems += [
            ((*place, at), f"must be text, not {describe(text)}{in_quotes(text)}")
            for at, text in enumerate(texts)
            if not isinstance(text, str)
        ]
    if problems:
        raise file.all_wrong(problems)
    return (
        options[0] + [f"{part} {amount}" for part, amount in changes.items()],
        options[1] + [f"{component}: {', '.join(calls)}" for component, calls in in_parallel.items()],
        options[2] + given.get("remove", []),
    )
