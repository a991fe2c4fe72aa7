"""What the commands share that load topologies step by step: how they are set up, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from experiment.arguments import checked_seed, topologies_of
from experiment.capacity.recorder import Recorder
from experiment.capacity.rig import Rig, Setup
from experiment.commands import options
from experiment.commands.preflight import Preflight
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.plan.networks import refuse_networks
from experiment.plan.workload import require_fitting, workload_file
from experiment.progress import Progress, shown
from experiment.results.folder import RESULTS, ResultsFolder
from experiment.results.manifest import manifest_of
from hops.kinds import make_report
from hops.kinds.capacity.document import Kind
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches

if TYPE_CHECKING:
    from rich.console import Console

    from hops.elements.element import Element
    from hops.gates.verdict import Doubt


def setup_of(kind: str, topologies: str, seed: str, workload: str, **switches: str | None) -> Setup:
    """What every system of a run is made of, by what a user gave.

    Raises:
        UsageError: The workload gives its customers networks or does not fit the switches, or something has a value
            that it cannot have.
    """
    file = workload_file(workload)
    refuse_networks(file, kind)
    parsed = parse_switches(**switches)
    require_fitting(file, parsed)
    return Setup(
        topologies=tuple(topologies_of(topologies, updates=parsed.updates)),
        switches=parsed,
        workload=file,
        seed=checked_seed(seed),
        ports=load_ports(os.environ),
    )


def run(
    kind: Kind,
    setup: Setup,
    chosen: dict[str, Any],
    work: Callable[[Rig], None],
    *,
    announcement: str,
    strict: str | None,
    as_json: bool,
) -> None:
    """Measures, writes the results, shows them, and ends the program.

    Args:
        kind: Kind of the run.
        setup: What every system is made of.
        chosen: The user's choices.
        work: Measures every topology.
        announcement: What the run will do, and how long it will take.
        strict: What the user gave for `strict`.
        as_json: Whether the document is printed as it is, instead.
    """
    look, is_strict = Preflight(), options.is_strict(strict)
    look.end([announcement])
    folder = ResultsFolder.new(RESULTS, kind)
    topologies = {topology.name: topology for topology in setup.topologies}
    seeds = {"tape": setup.seed, "data": DATA_SEED}
    manifest = manifest_of(kind, folder.final.name, topologies, setup.switches, setup.workload, seeds)
    recorder = Recorder(folder.path, kind, manifest, chosen)
    try:
        work(Rig(setup, folder.path, recorder, Progress()))
    except BaseException:
        _set_aside(folder, recorder)
        raise
    document = recorder.end(complete=True)

    def show(out: Console) -> None:
        from hops.kinds.capacity.terminal import capacity_view

        out.print(capacity_view(document))

    _publish(folder, kind, show, strict=is_strict, as_json=as_json)


def end(
    kind: str,
    measure: Callable[[ResultsFolder], Any],
    shown_of: Callable[[Any], tuple[Sequence[Element], Sequence[Doubt]]],
    *,
    announcement: str,
    strict: str | None,
    as_json: bool,
) -> None:
    """Measures, writes what a kind of one document leaves, shows it, and ends the program.

    Args:
        kind: Kind of the run.
        measure: Measures into a results folder, and returns the document.
        shown_of: Returns what a terminal shows of the document, and why its figures may not be trusted.
        announcement: What the run will do, and how long it will take.
        strict: What the user gave for `strict`.
        as_json: Whether the document is printed as it is, instead.
    """
    look, is_strict = Preflight(), options.is_strict(strict)
    look.end([announcement])
    folder = ResultsFolder.new(RESULTS, kind)
    try:
        document = measure(folder)
    except BaseException:
        folder.set_aside()
        raise
    folder.write_json(f"{kind}.json", document)

    def show(out: Console) -> None:
        from hops.terminal.render import rendered

        elements, doubts = shown_of(document)
        out.print(rendered(elements))
        for doubt in doubts:
            out.print(f"{doubt}.")

    _publish(folder, kind, show, strict=is_strict, as_json=as_json)


def _publish(folder: ResultsFolder, kind: str, show: Callable[[Console], None], *, strict: bool, as_json: bool) -> None:
    """Makes the report, publishes the results, shows them or their document, and ends the program."""
    _, verdict = make_report(folder.path)
    path = folder.publish(latest=False)  # `latest` is what `make trace` and `make audit` look at: a run with traces
    if as_json:
        options.print_file(path / f"{kind}.json")
    else:
        out = options.console()
        show(out)
        options.print_places(out, path)
    options.end(verdict, strict=strict)


def _set_aside(folder: ResultsFolder, recorder: Recorder) -> None:
    document = recorder.end(complete=False)
    if document["steps"]:
        make_report(folder.path)
    kept = folder.set_aside()
    if kept is not None:
        steps = len(document["steps"])
        print(f"{steps} finished step{'s are' if steps != 1 else ' is'} in {shown(kept)}.", file=sys.stderr)
