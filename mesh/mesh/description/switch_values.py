"""Values of switches: which are valid, how they are read, and what a switch needs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mesh.description.network import TIME, milliseconds
from mesh.errors import SwitchError

MAX_REPLICAS = 8
MAX_DELAY_MS = 1_000.0
MIN_HOLD_SHARE = 1_000_000
ENTRY: Final = "switch"
"""Key of a field's `Switch` in its metadata."""


@dataclass(frozen=True)
class Need:
    """A precondition, of all switches, without which a switch has no effect; `what` is the missing part and the remedy,
    in which `{name}` and `{default}` stand for the switch's name and default."""

    met: Callable[[Any], bool]
    what: str


@dataclass(frozen=True)
class Values:
    """The values of a switch, with the help text of a command's option and the valid values in words.

    `read` reads a value, given the switch's name; it raises a SwitchError that lists the valid values.
    """

    help: str
    valid: str
    read: Callable[[str, str], Any]


@dataclass(frozen=True)
class Switch(Values):
    """A switch, as users know it: its name on command lines, its field in results, and its default.

    `layer` is the layer that it acts on, and `needs` the precondition of values other than the default.
    """

    name: str
    field: str
    default: Any
    layer: str
    needs: Need | None


def entry(layer: str, default: Any, values: Values, needs: Need | None = None, *, name: str | None = None) -> Any:
    """Declares a switch: a field of `mesh.description.switches.Switches`; arguments as in `Switch`."""
    # The field's name is filled in later.
    metadata = {
        ENTRY: lambda own: Switch(
            **vars(values), name=name or own, field=own, default=default, layer=layer, needs=needs
        )
    }
    if isinstance(default, dict):
        return field(default_factory=dict, hash=False, metadata=metadata)
    return field(default=default, metadata=metadata)


def choice(about: str, *valid: str, to: Callable[[str], Any] = str) -> Values:
    """The values of a switch that has a fixed list of valid values."""

    def read(name: str, given: str) -> Any:
        if given not in valid:
            raise SwitchError(f"{name}={given} is unknown; valid: {', '.join(valid)}.")
        return to(given)

    in_words = " or ".join(valid)
    return Values(f"{about}: {in_words}.", in_words, read)


def whole(about: str, lowest: int, highest: int) -> Values:
    """The values of a switch that takes an integer within bounds."""

    def read(name: str, given: str) -> int:
        if given.isascii() and given.isdigit() and lowest <= int(given) <= highest:
            return int(given)
        raise SwitchError(f"{name}={given}: must be an integer from {lowest} to {highest}.")

    return Values(f"{about}, {lowest} to {highest}.", f"{lowest} to {highest}", read)


def share(name: str, given: str) -> float:
    """Reads a share, from 0 to 1."""
    try:
        of_all = float(given)
    except ValueError:
        of_all = math.nan
    if not 0 <= of_all <= 1:
        raise SwitchError(f"{name}={given}: must be a number from 0 (no journey) to 1 (every journey).")
    return of_all


_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%", re.ASCII)
_COUNT = re.compile(r"[0-9]+", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]+", re.ASCII)
_HOLD = re.compile(rf"(?:{TIME.pattern})/[0-9]{{1,9}}", re.ASCII)


def delays(name: str, given: str) -> dict[str, float]:
    """Reads delays such as `payment:2ms,product:500us`, to the microsecond; leaves out components with a delay of 0."""
    delays_ms: dict[str, float] = {}
    for component, value in _by_component(name, given, "a delay", "TIME", "payment:2ms or payment:2ms,product:500us"):
        exactly_ms = milliseconds(value) or 0.0
        delay_ms = round(exactly_ms, 3)
        if (exactly_ms and not delay_ms) or delay_ms > MAX_DELAY_MS:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: 0, or 1us to 1s.")
        if delay_ms:
            delays_ms[component] = delay_ms
    return delays_ms


def journey_kind(name: str, given: str) -> str:
    """Reads the name of a kind of journey; the workload decides which kinds there are."""
    if re.fullmatch("[a-z][a-z_]{0,59}", given, re.ASCII) is None:
        raise SwitchError(f"{name}={given} is not a kind of journey; give a kind in the workload, such as bulk_lines.")
    return given


class Hold(NamedTuple):
    """How a component's event loop is blocked: for how long, in ms, and how often: every Nth request."""

    ms: float
    every: int


def holds(name: str, given: str) -> dict[str, Hold]:
    """Reads holds such as `order:20ms/10`: the component is blocked for 20 ms at every tenth request."""
    found: dict[str, Hold] = {}
    for component, value in _by_component(name, given, "a hold", "TIME/N", "order:20ms/10"):
        time, _, every = value.partition("/")
        hold = Hold(round(milliseconds(time) or 0.0, 3), int(every))
        if not (0.001 <= hold.ms <= MAX_DELAY_MS and 1 <= hold.every <= MIN_HOLD_SHARE):
            raise SwitchError(
                f"{name}={given}: {component}:{value} is out of range; valid: 1us to 1s, at every request "
                f"(/1) to every {MIN_HOLD_SHARE:,}th."
            )
        found[component] = hold
    return found


def aborts(name: str, given: str) -> dict[str, float]:
    """Reads shares of calls to abort, such as `payment:1%`, as numbers from 0 to 1, to a millionth as in Envoy."""
    shares: dict[str, float] = {}
    for component, value in _by_component(name, given, "an abort", "PERCENT", "payment:1% or payment:1%,user:0.5%"):
        match = _PERCENT.fullmatch(value)
        share = round(float(match[1]) / 100, 6) if match else 0.0
        if not 0 < share <= 1:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: 0.0001% to 100%.")
        shares[component] = share
    return shares


def replicas(name: str, given: str) -> dict[str, int]:
    """Reads numbers of replicas such as `graphql-gateway:2,product:2`; leaves out components with one replica."""
    counts: dict[str, int] = {}
    examples = "product:2 or graphql-gateway:2,product:2"
    for component, value in _by_component(name, given, "a number of replicas", "N", examples):
        if not 1 <= int(value) <= MAX_REPLICAS:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: 1 to {MAX_REPLICAS}.")
        if int(value) > 1:
            counts[component] = int(value)
    return counts


def implementations(name: str, given: str) -> dict[str, str]:
    """Reads implementations such as `product:go`; the topology's check decides which components exist in a language."""
    from mesh.description.topology import BUILT_IN, PYTHON

    chosen = dict(_by_component(name, given, "an implementation", "LANGUAGE", "product:go"))
    for component, language in chosen.items():
        if language not in (PYTHON, *BUILT_IN):
            valid = ", ".join((PYTHON, *BUILT_IN))
            raise SwitchError(f"{name}={given}: {component}:{language} is unknown; valid languages: {valid}.")
    return chosen


def _by_component(name: str, given: str, what: str, value: str, examples: str) -> Iterator[tuple[str, str]]:
    """Yields the COMPONENT:VALUE pairs of a comma-separated list, in which each component may appear only once."""
    from mesh.description.topology import SERVES

    pattern = {"TIME": TIME, "TIME/N": _HOLD, "PERCENT": _PERCENT, "N": _COUNT, "LANGUAGE": _LANGUAGE}[value]
    seen: set[str] = set()
    for item in map(str.strip, given.split(",")):
        component, _, rest = item.partition(":")
        component = component.strip()
        if not component or pattern.fullmatch(rest) is None:
            raise SwitchError(
                f"{name}={given}: {item or 'an empty item'} is not {what}; give comma-separated "
                f"COMPONENT:{value} pairs, such as {examples}."
            )
        if component not in SERVES:
            raise SwitchError(f"{name}={given}: {component} is an unknown component; valid: {', '.join(SERVES)}.")
        if component in seen:
            raise SwitchError(f"{name}={given}: {component} is given twice; give it once.")
        seen.add(component)
        yield component, rest
