"""Targets that are measured instead of topologies: the user's choice, the load's switches, and the plan's entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiment.arguments import choices, read_items
from experiment.errors import UsageError
from experiment.own_target.addresses import require_mine
from experiment.own_target.file import HERE, Place, TargetFile, read_target
from experiment.own_target.steps import steps_of
from experiment.own_target.tls import tls_of
from experiment.plan.arms_in_blocks import SENT
from mesh.description.switches import SWITCHES
from mesh.description.topology import Topology

USUAL_SHARE = "0.1"
"""Share of journeys to trace if the target file names a trace store."""
OF_THE_SHOP: Mapping[str, str] = {
    "topologies": "targets= chooses among the targets of the file",
    "topology": "targets= chooses among the targets of the file",
    "edges": "a target has only the endpoints in its file",
    "edge_caches": "a target has only the endpoints in its file",
    "selections": "the target file says what its requests ask for",
    "workload": "the target file has the journeys",
    "tls": "the target file's endpoints say whether they use TLS, by https or grpcs",
    "tracing": "a target is traced by its own tracer",
}
"""Settings that only the shop has, and why. Switches that are not listed here change how the shop is started."""
_STARTED = "it changes how the shop is started, and a target is already running"


def refuse_of_the_shop(given: Mapping[str, str]) -> None:
    """Raises UsageError, which says why, if the user gave a setting that only the shop has."""
    for name, value in given.items():
        raise UsageError(f"{name}={value} with target=: {OF_THE_SHOP.get(name, _STARTED)}; leave it out")


def read_targets(files: str, chosen: str = "") -> TargetFile:
    """Reads several target files as one: returns the first file with the targets of all files.

    Args:
        files: Paths, comma-separated. The files may differ only in their targets, which all get the same journeys.
        chosen: Names of the targets to measure, comma-separated and in this order; empty for all.

    Raises:
        UsageError: A file is invalid or differs in more than its targets, or a chosen target does not exist.
    """
    first, *others = [read_target(Path(path)) for path in read_items("target", files, str)]
    targets: dict[str, Place] = dict(first.target.targets)
    same = {"name": "", "about": "", "targets": first.target.targets}
    for other in others:
        if other.target.model_copy(update=same) != first.target.model_copy(update=same):
            raise UsageError(
                f"{other.path}: it differs from {first.path} in more than its targets; all targets must get the same "
                "journeys in the same way"
            )
        if twice := sorted(set(targets) & set(other.target.targets)):
            raise UsageError(f"{other.path}: another file has a target {twice[0]} too; rename one of the two")
        targets |= other.target.targets
    if chosen:
        targets = {name: targets[name] for name in choices("targets", chosen, targets)}
    return replace(first, target=first.target.model_copy(update={"targets": targets}))


def as_topologies(file: TargetFile) -> list[Topology]:
    """Returns the targets as topologies with unknown components."""
    return [Topology(name=name, about=file.target.about, entry={}, links={}) for name in file.target.targets]


def switches_given(file: TargetFile, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Returns the generator's switches, the user's before the file's; raises UsageError for traces without a store."""
    target = file.target
    share = given.get("trace") or (USUAL_SHARE if target.traces else "0")
    if SWITCHES["trace"].read("trace", share) and not (target.otlp or target.traces):
        raise UsageError(
            f"trace={share}: the target file must say where the traces are: give traces: {HERE}, or the address of a "
            "Jaeger, Tempo or Zipkin"
        )
    reuse = "on" if target.keep_alive else "off"
    of_file = {"http": str(target.http), "connections": str(target.connections), "reuse": reuse, "visit": target.visit}
    return {**of_file, **{name: value for name in SENT if (value := given.get(name))}, "trace": share}


def describe(file: TargetFile, mine: Sequence[str], *, traced: bool) -> dict[str, Any]:
    """Checks everything about the targets of a run, and returns their entry for the plan.

    Args:
        mine: Hosts on other machines that the user may load.

    Raises:
        UsageError: A target is on another machine that the user has not named as theirs, the load generator refuses a
            step, or no trace store answers.
    """
    # Imported only here, because these imports take a second.
    from experiment.own_target.traces import require_store
    from experiment.own_target.trial import require_steps

    require_mine(file, mine)
    target = file.target
    if traced and target.traces not in ("", HERE):
        require_store(target.traces)
    require_steps(steps_of(file), file.path)
    return {
        "workload": file.path.name,
        "targets": {name: place.model_dump(mode="json") for name, place in target.targets.items()},
        "sent": {
            "mine": list(mine),
            "journeys": list(target.journeys),
            "timeout_s": target.timeout,
            "otlp": target.otlp,
            "traces": target.traces if traced else "",
            "tls": tls_of(file),
        },
    }
