"""Runs that are kept next to the page of findings, each as its summary and manifest."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiment.arguments import topologies_of
from experiment.errors import UsageError
from experiment.findings.table import FOLDER, Run
from experiment.plan.axis import compared_arms
from experiment.plan.networks import channel_networks
from experiment.plan.profiles import profile_named
from experiment.plan.workload import workload_file
from hops.run.documents.gate import VALID, WRONG
from hops.run.files import MANIFEST, SUMMARY, read_document
from mesh.description.switches import SWITCHES, settings_of

KEPT_SUMMARY = f"{SUMMARY}.gz"
COMPARE = "compare"
"""The command whose runs are compared with all settings; other commands make their arms in other ways."""
_OF_MANIFEST = ("schema", "kind", "name", "git", "machine", "versions", "seeds", "began", "ended", "blocks", "profile")


class Kept(NamedTuple):
    """A kept run: its summary, and what its manifest says about the commit, machine, versions and time."""

    summary: Mapping[str, Any]
    manifest: Mapping[str, Any]


def read_kept(name: str, folder: Path = FOLDER) -> Kept | None:
    """Reads the kept run with this name; returns None if no such run is kept."""
    if not (folder / name / KEPT_SUMMARY).is_file():
        return None
    with gzip.open(folder / name / KEPT_SUMMARY) as packed:
        return Kept(json.load(packed), read_document(folder / name / MANIFEST))


def keep(name: str, run: Run, results: Path, folder: Path = FOLDER) -> None:
    """Keeps the summary of a finished run, replacing an older summary.

    Raises:
        UsageError: The run was made by another command or with other settings, is WRONG, or is not VALID and would
            replace a VALID run.
    """
    summary, manifest = read_document(results / SUMMARY), read_document(results / MANIFEST)
    _require_same(name, run, results, manifest)
    verdict, older = summary["verdict"], read_kept(name, folder)
    if verdict == WRONG or (verdict != VALID and older is not None and older.summary["verdict"] == VALID):
        raise UsageError(f"{results} is {verdict}, so it is not kept as {name}; its report says why")
    to = folder / name
    to.mkdir(exist_ok=True)
    # The compressed file contains neither a name nor a time, so the same summary always gives the same bytes.
    packed = gzip.compress(json.dumps(summary, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
    (to / KEPT_SUMMARY).write_bytes(packed)
    kept = {key: manifest[key] for key in _OF_MANIFEST if key in manifest}
    (to / MANIFEST).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _require_same(name: str, run: Run, results: Path, manifest: Mapping[str, Any]) -> None:
    """Refuses a run of another kind, or with other settings."""
    for setting, is_now, wanted in _settings(run, manifest):
        if is_now != wanted:
            raise UsageError(f"{results} has {setting}={is_now}, but {name} needs {setting}={wanted}")


def _settings(run: Run, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields settings, each with its value in a manifest and its value in the table of findings."""
    given = {name: str(value) for name, value in run.settings.items()}
    made = {
        "workload": Path(manifest["workload"]).stem,
        "blocks": str(manifest["blocks"]),
        "topologies": ",".join(manifest["topologies"]),
        "seed": str(manifest["seeds"]["tape"]),
    }
    yield "make", manifest["kind"], run.make
    if run.make != COMPARE:
        yield from ((name, value, given[name]) for name, value in made.items() if name in given)
        return

    wanted = {setting.name: setting.default for setting in settings_of(COMPARE)} | given
    arms = _arms(wanted, {name: value for name, value in given.items() if name in SWITCHES})
    wanted["topologies"] = ",".join(arms)
    yield from ((name, value, wanted[name]) for name, value in made.items())
    profile = profile_named(wanted["profile"], rate=wanted["rate"])
    yield "profile", manifest["profile"]["name"], profile.name
    # A closed loop has no rate.
    yield "rate", manifest["profile"]["rate"], None if wanted["vus"] else profile.rate
    names = {switch.field: name for name, switch in SWITCHES.items()}
    for label, switches in arms.items():
        for field, value in switches.items():
            yield f"{label}'s {names.get(field, field)}", manifest["arms"][label].get(field), value


def _arms(settings: Mapping[str, str], switches: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Returns the switches of each arm of a comparison, as a manifest has them.

    Args:
        switches: Only the switches that were given: a default that is given may mean something else, such as `tls=off`.
    """
    topologies = topologies_of(settings["topologies"], updates=switches.get("updates", "off"))
    along = {name: settings[name] for name in ("edges", "edge_caches", "selections")}
    arms = compared_arms(topologies, along, switches, channel_networks(workload_file(settings["workload"])))
    return {arm.label: json.loads(json.dumps(arm.switches.as_dict())) for arm in arms}
