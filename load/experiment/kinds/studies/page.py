"""The table of verdicts on the page about studies, made from one or more runs.

    .venv/bin/python -m experiment.kinds.studies results/RUN [RUN ...]

The verdicts are stored in a file next to the page, from which a test rebuilds the table. Studies that none of the runs
replayed keep their stored verdicts. If several runs replayed a study, the last one counts. The table says so if a study
or the rules have changed since one of the runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiment.errors import UsageError
from experiment.kinds.studies.study import STUDIES, all_studies, read_study
from experiment.marked import write_marked
from hops.conclusions.wording import join_names
from hops.elements import numbers
from hops.kinds.studies.document import KIND, Verdict
from hops.kinds.studies.tables import (
    cite,
    condition_of,
    count_verdicts,
    phrase_claim,
    rules_for,
    several_note,
    size_text,
)
from hops.kinds.studies.verdict import holm
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.statistics.correction import SIGNIFICANCE
from mesh.paths import ROOT

PAGE = ROOT / "docs" / "experiments" / "studies.md"
KEPT = PAGE.with_name("studies-verdicts.json")
"""Stores each study's verdicts, with the name of their run and the digest of its rules."""
MARK = "verdicts"
NO_RUN = "No run has been made under the rules, arms and loads above.\n"
OLDER = "**A run is older than the rules, arms and loads above.**"
_HEADS = ("claim", "the study says", "its condition", "arms", "direction", "size", "measured", "after Holm", "cause")


def digest_rules(folder: Path = STUDIES) -> dict[str, str]:
    """Returns a digest of each study and of the rules for its verdicts; a run's manifest contains the same digests."""
    studies = {name: read_study(folder / f"{name}.yaml") for name in all_studies(folder)}
    rules = {
        name: rules_for(
            ((claim.metric, claim.relation, claim.tolerance) for claim in study.claims),
            fails=any(load.overload for load in study.replay.loads.values()),
        )
        for name, study in studies.items()
    }
    contents = {name: [rules[name], study.model_dump(mode="json")] for name, study in studies.items()}
    return {
        name: hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest() for name, one in contents.items()
    }


def verdicts_of(*runs: Path, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the parts of runs from which the page is made, with Holm's correction over all claims together.

    Args:
        kept: What an earlier call returned; its verdicts stay for studies that none of the runs replayed.

    Raises:
        UsageError: One of them is no replay of studies.
    """
    studies: dict[str, dict[str, Any]] = {one["study"]["id"]: one for one in (kept or {}).get("studies", [])}
    for run in runs:
        if not (run / SUMMARY).is_file():
            raise UsageError(f"{run}: there is no {SUMMARY}; give the folder of a finished run of `make {KIND}`")
        summary, manifest = read_document(run / SUMMARY), read_document(run / MANIFEST)
        if summary["kind"] != KIND:
            raise UsageError(f"{run}: this is a run of kind {summary['kind']}; give a run of `make {KIND}`")
        for one in summary["studies"]:
            name = one["study"]["id"]
            studies[name] = {"run": run.resolve().name, "rules": manifest["study_rules"].get(name), **one}
    verdicts = [verdict for one in studies.values() for verdict in one["verdicts"]]
    for verdict, p in zip(verdicts, holm([verdict["p"] for verdict in verdicts]), strict=True):
        verdict["p_holm"] = p
    return {"studies": list(studies.values())}


def section(kept: Mapping[str, Any] | None, rules: Mapping[str, str]) -> str:
    """Returns the text for the page's marked section; before the first run, there are no stored parts."""
    return NO_RUN if kept is None else "\n".join(_lines(kept, rules)) + "\n"


def _lines(kept: Mapping[str, Any], rules: Mapping[str, str]) -> Iterator[str]:
    verdicts: Sequence[Verdict] = [verdict for one in kept["studies"] for verdict in one["verdicts"]]
    older = f"{OLDER} " if any(one["rules"] != rules.get(one["study"]["id"]) for one in kept["studies"]) else ""
    yield f"{older}{count_verdicts(verdicts)} {several_note(verdicts)}"
    for one in kept["studies"]:
        yield ""
        yield f"{cite(one['study'])}, run `{one['run']}`, figures {one['figures']}:"
        yield ""
        yield f"| {' | '.join(_HEADS)} |"
        yield f"|{'---|' * len(_HEADS)}"
        for verdict in one["verdicts"]:
            yield f"| {' | '.join(_cells(verdict))} |"


def _cells(verdict: Verdict) -> list[str]:
    claim, effect, p = verdict["claim"], verdict["effect"], verdict["p_holm"]
    source = f"in its {claim['source']}" if claim["source"] else ""
    remarks = "; ".join(part for part in (source, claim["note"]) if part)
    decided = verdict["outcome"] in ("holds", "contradicted") and p is not None
    cells = [
        claim["id"],
        phrase_claim(claim) + (f" ({remarks})" if remarks else ""),
        condition_of(claim),
        join_names([f"`{name}`" for name in claim["topologies"]]) if verdict["arms"] else "",
        verdict["outcome"],
        size_text(verdict),
        "" if effect is None else numbers.figure(effect["value"], effect["ci95"]),
        ("stays" if (p or 0.0) < SIGNIFICANCE else "not shown") if decided else "",
        " ".join(verdict["why"]) or verdict["reason"],
    ]
    return [re.sub(r"\s+", " ", cell).replace("|", r"\|") or numbers.NOTHING for cell in cells]


def write(runs: Sequence[Path]) -> None:
    """Stores the verdicts of runs, and writes their table into the page."""
    kept = verdicts_of(*runs, kept=json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else None)
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_marked(PAGE, MARK, section(kept, digest_rules()))
