"""`make decide`: chooses a topology from a comparison, or a way to wait for updates from a run of `make watch`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import cast

import typer

from experiment.arguments import duration_s, number, whole_number
from experiment.blocks import WORKLOAD
from experiment.commands.options import console, end, is_strict, reported_errors
from experiment.errors import UsageError
from experiment.plan.networks import channel_networks
from experiment.plan.workload import mix_of, workload_file
from experiment.results.folder import RESULTS, find_run, finished_runs
from hops.analysis.summary import check_run, distance_figures, every_pair, summarise
from hops.kinds import analyse
from hops.kinds.decide.analysis import Customers, decide
from hops.kinds.decide.conclusions import decision_view
from hops.kinds.rates.document import AXIS
from hops.kinds.rates.document import KIND as RATES
from hops.kinds.watch.choice import choice_elements, choices
from hops.kinds.watch.document import watched_of
from hops.run.axis import shared_places
from hops.run.documents.manifest import Manifest
from hops.run.documents.summary import Summary
from hops.run.files import MANIFEST, SUMMARY, RunFiles, read_document, read_run
from hops.run.network import CHANNELS, LOOPBACK, NAMED, networks_of
from hops.run.network import Network as CustomersNetwork
from hops.terminal.render import render
from mesh.description.network import Network as ChannelNetwork
from mesh.description.options import Given, Json, takes_settings
from mesh.description.switches import parse_switches

COMPARE = "compare"
"""Kind of run on which a decision is based; a run at several rates counts as a comparison at each of its rates."""
WATCHED = "updates.parquet"
"""The file that only runs of `make watch` have."""
SOONEST, LATEST = "1ms", "60m"


@takes_settings("decide")
def command(
    *,
    run: str,
    workload: str,
    rate: str,
    watchers: str,
    lateness: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    with reported_errors():
        ends_noisy = is_strict(strict)
        if watchers:
            others = {"workload": workload, "rate": rate, **switches}
            summary = _decide_how_to_wait(
                run, watchers, lateness or "1s", [name for name, value in others.items() if value], as_json
            )
            end(summary["verdict"], strict=ends_noisy)
            return
        if lateness:
            raise UsageError(f"lateness={lateness} needs watchers=, the number of waiting customers")
        folder = find_run(RESULTS, run, holds=(MANIFEST, SUMMARY))
        manifest = read_document(folder / MANIFEST, form=Manifest)
        if manifest["kind"] == RATES:
            measured = _at_rate(read_run(folder), rate)
            summary = summarise(measured, name=manifest["name"], pairs_of=every_pair, figures_of=distance_figures)
        elif rate:
            raise UsageError(
                f"rate={rate} is for a run at several rates (`make rates`), but run={run} is of kind {manifest['kind']}"
            )
        elif manifest["kind"] != COMPARE:
            is_of = f"run={run} is of kind {manifest['kind']}"
            raise UsageError(f"{is_of}; a decision between topologies needs a run of kind {COMPARE}; {_others()}")
        else:
            measured = read_run(folder)
            # Older versions wrote no verdict.
            if "verdict" in read_document(folder / SUMMARY):
                summary = cast("Summary", read_document(folder / SUMMARY, form=Summary))
            else:
                summary = analyse(measured, name=manifest["name"])
            check_run(measured)
        decision = decide(measured, summary, _customers(folder, manifest["workload"], workload, **switches))
        if as_json:
            typer.echo(json.dumps(decision, indent=2, ensure_ascii=False, allow_nan=False))
        else:
            console().print(decision_view(decision))
        end(decision["verdict"], strict=ends_noisy)


def _decide_how_to_wait(run: str, watchers: str, lateness: str, others: list[str], as_json: bool) -> Summary:
    """Prints how customers should wait; returns the summary on which this decision is based."""
    if others:
        raise UsageError(f"{others[0]}= cannot be combined with watchers=; valid with it: run, lateness")
    lateness_s = duration_s("lateness", lateness, SOONEST, LATEST)
    there = finished_runs(RESULTS, WATCHED)
    if run == "latest" and not there:
        raise UsageError("there is no run of watchers yet: run `make watch` first")
    folder = find_run(RESULTS, there[0] if run == "latest" else run)
    if not (folder / WATCHED).is_file():
        listed = f"available: {', '.join(there[:5])}" if there else "there are none yet"
        raise UsageError(f"run={run} has no waiting customers; watchers= needs a run of `make watch`; {listed}")
    summary = cast("Summary", read_document(folder / SUMMARY, form=Summary))
    watched = watched_of(summary)
    count = whole_number("watchers", watchers, 1, watched["counts"][-1])
    if as_json:
        options = choices(watched, count, lateness_s)
        typer.echo(json.dumps([asdict(one) for one in options], indent=2, allow_nan=False))
    else:
        out = console()
        out.print(render(choice_elements(watched, count, lateness_s)))
        out.print(f"This decision is based on {folder}.")
    return summary


def _at_rate(run: RunFiles, rate: str) -> RunFiles:
    """Returns the arms that ran at one rate in a run at several rates, as a comparison of topologies."""
    arms = AXIS.arms(run.manifest)
    equal = shared_places(arms)
    if not equal:
        raise UsageError(
            f"run={run.path.name} has no rate at which all topologies ran: percentages differ by topology; give "
            "`make rates` journeys per second"
        )
    available = ", ".join(f"{place:g}" for place in equal)
    if not rate:
        raise UsageError(
            f"run={run.path.name} has several rates: give the rate at which to decide, rate= one of {available}"
        )
    wanted = number("rate", rate)
    if wanted not in equal:
        raise UsageError(f"rate={rate} was not measured for all topologies by {run.path.name}; valid: {available}")
    at = run.of_arms({arm.label: arm.topology for arm in arms if arm.at == wanted and arm.percent is None})
    at.manifest.update(kind=COMPARE, profile={**at.manifest["profile"], "rate": wanted})
    return at


def _customers(folder: Path, own: str, workload: str, **given: str | None) -> Customers:
    """Returns the customers that the user described; the run supplies what the user left out."""
    if not workload:
        return Customers(Path(own).stem, None, _networks({}, given))
    file = workload_file(workload)
    mix, sent = mix_of(file), folder / WORKLOAD
    # The run's tape is a fair sample of the same mix, so its journeys need no new weights.
    is_own = sent.is_file() and mix_of(sent) == mix
    return Customers(file.stem, None if is_own else mix, _networks(channel_networks(file), given))


def _networks(
    of_workload: Mapping[str, ChannelNetwork], given: Mapping[str, str | None]
) -> Mapping[str, CustomersNetwork]:
    """Returns each channel's network: the given one or, failing that, the workload's; empty if neither exists."""
    networks = networks_of(parse_switches(of_workload, **given).as_dict())
    if not networks and any(given.values()):
        return dict.fromkeys(CHANNELS, NAMED[LOOPBACK])
    return networks


def _others() -> str:
    there = [name for name in finished_runs(RESULTS, SUMMARY) if f"-{COMPARE}" in name]
    return f"available: {', '.join(there[:5])}" if there else "there are no comparisons yet: run `make compare` first"
