"""Proofs without a shop: checks of the statistics and hop budgets on synthetic data whose truth is known."""

from __future__ import annotations

from typing import Annotated

import typer

from hops.commands.sources import AsJson
from proofs.aa import aa_view, prove_aa
from proofs.coverage import coverage_view, prove_coverage
from proofs.experiments import experiments_in
from proofs.giving import give, with_progress
from proofs.meetings import meetings_view, prove_meetings
from proofs.power import CELLS, measure_power, power_view
from proofs.precision import precision_view, prove_precision
from proofs.searches import prove_searches, searches_view
from proofs.siblings import prove_siblings, siblings_view
from proofs.speeds import prove_speeds, speeds_view
from proofs.trace_sets import prove_trace_sets, sets_view
from proofs.turns import prove_turns, turns_view
from synthetic.waits import CAUSES

app = typer.Typer(no_args_is_help=True, help=__doc__)

Experiments = Annotated[int, typer.Option(min=1, help="Number of synthetic experiments.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the synthetic data, an integer ≥ 0.")]


@app.command()
def aa(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Count false differences between four copies of one system.

    Fails if a metric shows false differences in significantly more than 5 % of the experiments.
    """
    proof = with_progress(
        "A/A experiments", experiments_in(experiments), lambda step: prove_aa(experiments, seed, step)
    )
    give(proof, aa_view(proof), as_json=as_json)


@app.command()
def coverage(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Measure how often 95 % intervals contain the true value; fails outside 93 to 97 %."""
    proof = with_progress(
        "Experiments", experiments_in(experiments), lambda step: prove_coverage(experiments, seed, step)
    )
    give(proof, coverage_view(proof), as_json=as_json)


@app.command()
def power(
    experiments: Annotated[int, typer.Option(min=1, help="Number of synthetic experiments per row.")] = 100,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Measure how often a true difference is detected, by its size, the number of blocks and the noise; never fails."""
    proof = with_progress("Rows", len(CELLS), lambda step: measure_power(experiments, seed, step))
    give(proof, power_view(proof), as_json=as_json)


@app.command()
def precision(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Check intervals and verdicts of experiments that run until their intervals are narrow.

    Fails outside 93 to 97 % with the usual first stage, or if intervals of any kind of experiment contain the true
    value in significantly fewer cases. Fails too if a metric shows false differences in significantly more than 5 % of
    the experiments.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_precision(experiments, seed, step))
    give(proof, precision_view(proof), as_json=as_json)


@app.command("trace-sets")
def trace_sets(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Compare equal sets of traces, and check limits that equal their true figures.

    Fails if significantly more than 5 % of the pairs show a difference, or 5 % of the limit files a broken limit.
    """
    proof = with_progress("Pairs", experiments_in(experiments), lambda step: prove_trace_sets(experiments, seed, step))
    give(proof, sets_view(proof), as_json=as_json)


@app.command()
def meetings(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Look for the causes of waits in experiments with known causes.

    Fails if intervals contain the true wait in less than 93 % of cases. Fails too if significantly more than 5 %
    exclude 0 without a wait, or if as many experiments with pauses or slowdowns blame a journey.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_meetings(experiments, seed, step))
    give(proof, meetings_view(proof), as_json=as_json)


@app.command()
def speeds(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Check intervals on a machine that changes its speed.

    Fails if intervals of ratios and differences of VALID runs contain the truth in significantly less than 93 %.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_speeds(experiments, seed, step))
    give(proof, speeds_view(proof), as_json=as_json)


@app.command()
def searches(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Search for the highest rates of synthetic systems.

    Fails if equal systems are shown to differ in significantly more than 5 % of the pairs.
    """
    proof = with_progress("Pairs", experiments, lambda step: prove_searches(experiments, seed, step))
    give(proof, searches_view(proof), as_json=as_json)


@app.command()
def turns(experiments: Experiments = 1000, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Look for rankings that flip with the rate, on systems where the truth is known.

    Fails if a stable ranking is reported to flip in significantly more than 5 % of the experiments.
    """
    proof = with_progress("Experiments", experiments, lambda step: prove_turns(experiments, seed, step))
    give(proof, turns_view(proof), as_json=as_json)


@app.command()
def siblings(
    traces: Annotated[int, typer.Option(min=1, help="Number of synthetic traces for each cause of a wait.")] = 5000,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Compare rules for overlapping sibling spans on traces whose waits are known.

    Fails if a rule is significantly better than the rule that hop budgets use.
    """
    total = traces * len(CAUSES)
    proof = with_progress("Traces", total, lambda step: prove_siblings(traces, seed, step))
    give(proof, siblings_view(proof), as_json=as_json)
