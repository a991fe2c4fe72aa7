"""The commands of proofs on synthetic data, and on rows of a real run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from experiment.commands.options import reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.commands.sources import AsJson
from hops.elements.element import Element
from hops.run.files import SUMMARY, TRIALS, RunFiles, read_run
from mesh.description.options import Json
from proofs.outcome import Progress, give, proves, with_progress
from proofs.statistics.aa import aa_view, prove_aa
from proofs.statistics.coverage import coverage_view, prove_coverage
from proofs.statistics.experiments import experiments_in
from proofs.statistics.meetings import meetings_view, prove_meetings
from proofs.statistics.observer import observer_view, prove_observer
from proofs.statistics.power import CELLS, measure_power, power_view
from proofs.statistics.precision import precision_view, prove_precision
from proofs.statistics.searches import prove_searches, searches_view
from proofs.statistics.siblings import prove_siblings, siblings_view
from proofs.statistics.speeds import prove_speeds, speeds_view
from proofs.statistics.trace_sets import prove_trace_sets, sets_view
from proofs.statistics.turns import prove_turns, turns_view
from proofs.statistics.versions import prove_versions, versions_view
from synthetic.waits import CAUSES


@dataclass(frozen=True, slots=True)
class SyntheticProof:
    """A proof on synthetic data.

    Attributes:
        prove: Runs the proof, with the number of experiments, the seed of the data and a function that reports
            progress. The same seed gives the same result. Its docstring is the command's help.
        steps: Noun for the counted steps.
        total: Number of steps for a number of experiments.
        counts: Name of the option for the number of experiments.
        about: Help of this option.
    """

    prove: Callable[[int, int, Progress], Any]
    view: Callable[[Any], list[Element]]
    steps: str = "Experiments"
    total: Callable[[int], int] = int
    counts: str = "experiments"
    default: int = 1000
    about: str = "Number of synthetic experiments."


PROOFS = {
    "aa": SyntheticProof(prove_aa, aa_view, "A/A experiments", experiments_in),
    "coverage": SyntheticProof(prove_coverage, coverage_view, total=experiments_in),
    "power": SyntheticProof(
        measure_power,
        power_view,
        "Rows",
        lambda _: len(CELLS),
        default=100,
        about="Number of synthetic experiments per row.",
    ),
    "precision": SyntheticProof(prove_precision, precision_view),
    "trace-sets": SyntheticProof(prove_trace_sets, sets_view, "Pairs", experiments_in),
    "meetings": SyntheticProof(prove_meetings, meetings_view),
    "speeds": SyntheticProof(prove_speeds, speeds_view),
    "searches": SyntheticProof(prove_searches, searches_view, "Pairs"),
    "turns": SyntheticProof(prove_turns, turns_view),
    "siblings": SyntheticProof(
        prove_siblings,
        siblings_view,
        "Traces",
        lambda traces: traces * len(CAUSES),
        "traces",
        5000,
        "Number of synthetic traces for each cause of a wait.",
    ),
}
"""The proofs on synthetic data, by command."""
_SEED = typer.Option(1, min=0, help="Seed of the synthetic data, an integer ≥ 0.")


def _command_of(proof: SyntheticProof) -> Callable[..., None]:
    number = typer.Option(proof.default, f"--{proof.counts}", min=1, help=proof.about)

    def command(count: int = number, seed: int = _SEED, as_json: AsJson = False) -> None:
        # Otherwise, the processes that run experiments would outlive a SIGTERM.
        with reported_errors():
            result = with_progress(proof.steps, proof.total(count), lambda step: proof.prove(count, seed, step))
            give(result, proof.view(result), as_json=as_json)

    command.__doc__ = inspect.getdoc(proof.prove)
    return command


app = typer.Typer(no_args_is_help=True, help=__doc__)
for _name, _proof in PROOFS.items():
    app.command(_name)(_command_of(_proof))


def _read(run: str) -> RunFiles:
    return read_run(find_run(RESULTS, run, holds=(TRIALS, SUMMARY)))


@app.command()
@proves("prove-observer")
def observer(
    *,
    run: str,
    draws: Annotated[int, typer.Option(min=1)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Treat some of a run's untraced journeys as traced, and count how often the observer effect's interval excludes 0.

    Fails if it does in more than 6 % of the draws, and chance does not explain that for a true rate of 5 %.
    """
    files = _read(run)
    result = with_progress("Draws", draws, lambda step: prove_observer(files, draws, seed, step))
    give(result, observer_view(result), as_json=as_json)


@app.command()
@proves("prove-versions")
def versions(
    *,
    run: str,
    experiments: Annotated[int, typer.Option(min=1)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Draw experiments from a run of equal versions, and count false and found differences; the same for pairs of runs.

    Fails if equal versions differ in significantly more than 5 % of the experiments. Fails too if a part of at least
    2 ms that is 10 % slower is found in less than 80 % of them.
    """
    files = _read(run)
    result = with_progress("Experiments", experiments, lambda step: prove_versions(files, experiments, seed, step))
    give(result, versions_view(result), as_json=as_json)
