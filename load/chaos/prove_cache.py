"""`make prove-cache`: `python -m chaos.prove_cache`; exit code 3 if a request failed or a read was too old."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import typer

from chaos.races import FROZEN_S, PRODUCT, READERS, READERS_AFTER, Outcome, run_races
from chaos.shop import Shop
from experiment.commands.options import end, in_ci
from hops.run.documents.gate import NOISY, VALID, WRONG
from mesh.components.cache_accounts import cache_counts
from mesh.description.options import Json, takes_settings
from mesh.description.ports import Ports, load_ports
from mesh.paths import RunFolder
from mesh.supervisor.reporting import reported

BOUND_MS, LIMIT_MS = 1_000, 100
"""A short bound, so that reads which are too old would show; and more patience than a service has otherwise, so that a
busy machine takes the cache out of use less often than the proof does."""
EXPLAINED_S = 5.0
"""How long before a change a question may have had no answer for the cache to be still out of use, in seconds."""
CACHED = {"SHOP_CACHE_BOUND_MS": str(BOUND_MS), "SHOP_CACHE_LIMIT_MS": str(LIMIT_MS)}

VERDICTS = {
    VALID: "No request failed, and no read was too old.",
    NOISY: "NOT SHOWN: requests failed while other programs used the machine, and no read was too old.",
    WRONG: "The proof FAILED.",
}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_settings("prove-cache")
def prove(
    *,
    races: Annotated[int, typer.Option(min=1)],
    kills: Annotated[int, typer.Option(min=0)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Let writers race readers of a cached product while its cache is killed. Exit code 3 if a read was too old."""
    with reported():
        ports = load_ports(os.environ)
        outcome = proof(
            ports,
            RunFolder.of(ports.base),
            races=races,
            kills=kills,
            seed=seed,
            progress=lambda number: print(f"\rkilled {number} of {kills}", end="", file=sys.stderr),
        )
        print(file=sys.stderr)
    typer.echo(json.dumps(outcome.as_dict(), indent=2) if as_json else in_words(outcome))
    end(outcome.verdict, strict=in_ci())


def proof(
    ports: Ports, folder: RunFolder, *, races: int, kills: int, seed: int, progress: Callable[[int], None]
) -> Outcome:
    """Runs the proof on a shop of its own with two replicas of the product service; arguments as of `run_races`."""
    with Shop(replace(ports, replicas={PRODUCT: 2}), folder, cached=CACHED) as shop:
        outcome = run_races(shop, races=races, kills=kills, seed=seed, bound_s=BOUND_MS / 1_000, progress=progress)
    # The services have said what they asked the cache as they stopped.
    counts = cache_counts(folder, 0.0, float("inf"))[PRODUCT]
    outcome.asked, outcome.hits = counts.asked, counts.hits
    outcome.unexplained = sum(
        not cache_counts(folder, changed - EXPLAINED_S, changed + 1)[PRODUCT].unanswered for changed in outcome.missed
    )
    return outcome


def in_words(outcome: Outcome) -> str:
    """The outcome for people."""
    lines = [
        f"{outcome.races:,} changes raced {outcome.reads:,} reads ({READERS} beside each, {READERS_AFTER} after it) in "
        f"{outcome.wall_s:.0f} s, over two replicas of {PRODUCT}.",
        f"The cache was killed {outcome.kills} times and frozen {outcome.freezes} times for {FROZEN_S:g} s; it had "
        f"{outcome.hits:,} of {outcome.asked:,} rows.",
        f"{len(outcome.failed)} requests failed.",
        f"{len(outcome.missed)} reads had not seen a change that was acknowledged before they began, "
        f"{outcome.unexplained} of them although the cache had answered everything; the worst for "
        f"{outcome.longest_stale_s * 1_000:.1f} ms, allowed: {outcome.bound_s * 1_000:.0f} ms.",
        *(f"FAILED: {what}" for what in outcome.failed[:10]),
        VERDICTS[outcome.verdict],
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    app()
