"""Whether two runs can be compared, and how they differ otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from hops.conclusions.wording import join_names, loop_text
from hops.errors import NotComparableError
from hops.run.files import RunFiles
from hops.run.loads import sending_of
from hops.run.network import SWITCHES as NETWORK
from hops.run.network import network_text
from hops.run.switches import switches_of, value_text

_OF_THE_DATA = ("scale", "payload")
"""Switches that change the work itself, not how it is done."""


class Differs(TypedDict):
    """One difference between two runs that can still be compared."""

    what: str
    a: str
    b: str


def require_comparable(a: RunFiles, b: RunFiles, compared: Sequence[tuple[str, str]]) -> None:
    """Refuses two runs whose difference would say nothing about the systems.

    Args:
        compared: The topologies or arms of `a` and of `b` that are compared.

    Raises:
        NotComparableError: Something that must be equal differs; the message has every reason.
    """
    first, second = a.manifest, b.manifest
    reasons = []
    if first["mode"] != second["mode"]:
        reasons.append(f"a has {_loop(first)} and b {_loop(second)}, whose latencies start at different moments")
    elif first.get("closed") != second.get("closed"):
        reasons.append(f"the loads differ: {_loop(first)} against {_loop(second)}")
    for name, word in (("warmup_s", "the warm-up"), ("duration_s", "the length of the load")):
        mine, other = first["profile"][name], second["profile"][name]
        if mine != other:
            reasons.append(f"{word} differs: {mine:g} s against {other:g} s")
    if first["seeds"]["data"] != second["seeds"]["data"]:
        reasons.append(f"the data differ: seed {first['seeds']['data']} against {second['seeds']['data']}")
    for what, describe in (("data", _data), ("tapes", _tape), ("loads", _sending)):
        names: dict[str, list[str]] = {}
        for mine, other in compared:
            if text := describe(a, b, mine, other):
                names.setdefault(text, []).append(mine if mine == other else f"{mine} and {other}")
        reasons += [f"the {what} differ for {join_names(of)}: {text}" for text, of in names.items()]
    if reasons:
        raise NotComparableError(f"{a.path.name} and {b.path.name} cannot be compared: {'; '.join(reasons)}")


def pairs(a: RunFiles, b: RunFiles) -> list[tuple[str, str]]:
    """Pairs the topologies of `a` and `b`: each topology in both runs, else the only topology of each run.

    Raises:
        NotComparableError: There is no such pair.
    """
    both = [name for name in a.topologies if name in b.topologies]
    if both:
        return [(name, name) for name in both]
    if len(a.topologies) == len(b.topologies) == 1:
        return [(a.topologies[0], b.topologies[0])]
    raise NotComparableError(
        f"{a.path.name} and {b.path.name} have no topology in common: {', '.join(a.topologies)} against "
        f"{', '.join(b.topologies)}; two runs of one topology each can be compared even if their topologies differ"
    )


def what_differs(a: RunFiles, b: RunFiles, compared: Sequence[tuple[str, str]]) -> list[Differs]:
    """Lists allowed differences, which often explain the results: commit, machine, switches, versions, topologies.

    Args:
        compared: As in `require_comparable`.
    """
    first, second = a.manifest, b.manifest
    rows = [
        Differs(what="commit", a=_commit(first), b=_commit(second)),
        Differs(what="blocks", a=str(a.blocks), b=str(b.blocks)),
        Differs(what="source of CPU time", a=_source(a), b=_source(b)),
        Differs(what="network", a=_network(first), b=_network(second)),
    ]
    for title, key in (("machine", "machine"), ("cluster", "cluster"), ("version", "versions")):
        mine, other = first.get(key, {}), second.get(key, {})
        names = dict.fromkeys((*mine, *other))
        rows += [Differs(what=f"{title}: {name}", a=_text(mine, name), b=_text(other, name)) for name in names]
    rows += _switches(first, second, compared)
    for name in a.topologies:
        if name in b.topologies and first["topologies"][name] != second["topologies"][name]:
            mine, other = first["topologies"][name], second["topologies"][name]
            rows += [
                Differs(what=f"{name}: {part}", a=_text(mine, part), b=_text(other, part))
                for part in dict.fromkeys((*mine, *other))
            ]
    return [row for row in rows if row["a"] != row["b"]]


def _switches(
    first: Mapping[str, Any], second: Mapping[str, Any], compared: Sequence[tuple[str, str]]
) -> Iterator[Differs]:
    """Lists the switches with different values, and the arms that they concern if these are not all."""
    differing: dict[tuple[str, str, str], list[str]] = {}
    for mine, other in compared:
        left, right = switches_of(first, mine), switches_of(second, other)
        for name in dict.fromkeys((*left, *right)):
            if name not in NETWORK and (value := value_text(left, name)) != (changed := value_text(right, name)):
                differing.setdefault((name, value, changed), []).append(mine)
    for (name, value, changed), arms in differing.items():
        whose = "" if len(arms) == len(compared) else f" of {join_names(arms)}"
        yield Differs(what=f"switch: {name}{whose}", a=value, b=changed)


def _loop(manifest: Mapping[str, Any]) -> str:
    closed = manifest.get("closed")
    if manifest["mode"] == "open" or closed is None:
        return "an open loop"
    return f"a closed loop of {loop_text(closed)}"


def _data(a: RunFiles, b: RunFiles, mine: str, other: str) -> str:
    """Describes how the data of two arms differ; empty if equal."""
    left, right = switches_of(a.manifest, mine), switches_of(b.manifest, other)
    values = [{name: value_text(one, name) for name in _OF_THE_DATA} for one in (left, right)]
    return _differing(values[0], values[1])


def _tape(a: RunFiles, b: RunFiles, mine: str, other: str) -> str:
    """Describes how two tapes differ: by their settings or, if these are equal, by their digests; empty if equal."""
    first, second = a.tape_of(mine), b.tape_of(other)
    if first == second:
        return ""
    settings = _differing(_settings_of_tape(a.manifest, mine), _settings_of_tape(b.manifest, other))
    return settings or f"{first[:12]}… against {second[:12]}… (a workload file that was changed, or another scale)"


def _settings_of_tape(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    rate = manifest.get("loads", {}).get(name, manifest["profile"]).get("rate")
    return {"workload": manifest.get("workload"), "seed": manifest["seeds"]["tape"], "rate": rate}


def _sending(a: RunFiles, b: RunFiles, mine: str, other: str) -> str:
    """Describes how two tapes are sent differently, and how customers wait for updates meanwhile; empty if equal."""
    return _differing(sending_of(a.manifest, mine), sending_of(b.manifest, other))


def _differing(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Lists the settings that both have, with different values."""
    names = [name for name in mine if name in other and mine[name] != other[name]]
    return ", ".join(f"{name} {mine[name]} against {other[name]}" for name in names)


def _network(manifest: Mapping[str, Any]) -> str:
    """Describes the emulated network between customers and edge; arms with different networks are listed separately."""
    arms = manifest.get("arms", {"": manifest["switches"]})
    networks = {label: network_text(switches) or "none" for label, switches in arms.items()}
    if len(set(networks.values())) == 1:
        return next(iter(networks.values()))
    return "; ".join(f"{label}: {text}" for label, text in networks.items())


def _source(run: RunFiles) -> str:
    return "kernel" if run.resources_from is None else run.resources_from["source"]


def _commit(manifest: Mapping[str, Any]) -> str:
    git = manifest.get("git", {})
    commit = str(git.get("commit") or "unknown")[:12]
    return f"{commit} with changes" if git.get("dirty") else commit


def _text(values: Mapping[str, Any], name: str) -> str:
    return "-" if name not in values else str(values[name])
