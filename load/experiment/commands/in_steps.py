"""What the kinds of one document share: how their systems are set up, and how they end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiment.arguments import checked_seed, topologies_of
from experiment.commands import options
from experiment.commands.preflight import Preflight
from experiment.plan.networks import refuse_networks
from experiment.plan.workload import require_fitting, workload_file
from experiment.results.folder import RESULTS, ResultsFolder
from hops.kinds import make_report
from mesh.description.ports import Ports, load_ports
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import Topology

if TYPE_CHECKING:
    from hops.elements.element import Element
    from hops.gates.verdict import Doubt

PARITY_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Setup:
    """What every system of a run is made of.

    Attributes:
        topologies: The topologies to measure, in this order.
        switches: The switches that they run with.
        workload: File of the workload.
        seed: Seed that the tapes' seeds are derived from.
        ports: Where everything listens.
    """

    topologies: tuple[Topology, ...]
    switches: Switches
    workload: Path
    seed: int
    ports: Ports


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
    _, verdict = make_report(folder.path)
    path = folder.publish(latest=False)  # `latest` is what `make trace` and `make audit` look at: a run with traces
    if as_json:
        options.print_file(path / f"{kind}.json")
    else:
        from hops.terminal.render import rendered

        out = options.console()
        elements, doubts = shown_of(document)
        out.print(rendered(elements))
        for doubt in doubts:
            out.print(f"{doubt}.")
        options.print_places(out, path)
    options.end(verdict, strict=is_strict)
