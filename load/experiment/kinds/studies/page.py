"""The table of verdicts on the page about studies, made from one or more runs.

    .venv/bin/python -m experiment.kinds.studies results/RUN [RUN ...]

The verdicts are stored in a file next to the page, from which a test rebuilds the table. Claims that none of the runs
replayed keep their stored verdicts. If several runs replayed a claim, the last one counts. The table names the claims
whose study or rules have changed since their runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiment.errors import UsageError
from experiment.kinds.studies.study import STUDIES, StudyFile, all_studies, read_study
from experiment.marked import write_marked
from hops.conclusions.wording import join_names
from hops.elements import numbers
from hops.kinds.studies.analysis import not_comparable
from hops.kinds.studies.document import KIND, OF_THE_ANSWERS, Verdict
from hops.kinds.studies.tables import (
    cite,
    condition_of,
    count_verdicts,
    phrase_claim,
    qualify,
    rules_for,
    several_note,
    size_text,
)
from hops.kinds.studies.verdict import holm
from hops.run.documents.estimate import Estimate
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.statistics.correction import SIGNIFICANCE
from mesh.paths import ROOT

PAGE = ROOT / "docs" / "experiments" / "studies.md"
KEPT = PAGE.with_name("studies-verdicts.json")
"""Stores each claim's verdict, with the name of its run and the digest of its rules."""
MARK = "verdicts"
NO_RUN = "No run has been made under the rules, arms and loads above.\n"
OLDER = "**The runs of {} are older than the rules, arms and loads above.**"
_REPLAYED = {"claims", "replay"}
_EACH = "__all__"
_TEXTS: Any = {
    "claims": {_EACH: {"note"}},
    "replay": {
        "not_replayed": True,
        "published": True,
        "not_comparable": True,
        "scale": {"why"},
        "sides": {_EACH: {"why"}},
        "arms": {_EACH: {"why"}},
        "loads": {_EACH: {"about"}},
    },
}
_HEADS = ("claim", "the study says", "its condition", "arms", "direction", "size", "measured", "after Holm", "cause")


def digest_rules(folder: Path = STUDIES) -> dict[str, dict[str, str]]:
    """Returns a digest for each claim of each study: of its rules, and of what its study's file says about its replay.

    Texts do not count. A run's manifest contains the same digests.
    """
    studies = [read_study(folder / f"{name}.yaml") for name in all_studies(folder)]
    return {study.id: _digest_claims(study) for study in studies}


def _digest_claims(study: StudyFile) -> dict[str, str]:
    return {claim.id: _digest(study.only([claim.id])) for claim in study.claims}


def _digest(study: StudyFile) -> str:
    (claim,) = study.claims
    rules = rules_for(
        [(claim.metric, claim.relation, claim.tolerance)],
        fails=any(load.overload for load in study.replay.loads.values()),
        noisy=claim.metric != OF_THE_ANSWERS,
    )
    contents = json.dumps([rules, study.model_dump(mode="json", include=_REPLAYED, exclude=_TEXTS)], sort_keys=True)
    return hashlib.sha256(contents.encode()).hexdigest()


def verdicts_of(*runs: Path, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the parts of runs from which the page is made, with Holm's correction over all claims together.

    Args:
        kept: What an earlier call returned; its verdicts stay for claims that none of the runs replayed.

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
            name, rules = one["study"]["id"], manifest["study_rules"][one["study"]["id"]]
            before = studies.get(name, {"study": one["study"], "verdicts": []})
            claims = {verdict["claim"]["id"]: verdict for verdict in before["verdicts"]}
            for verdict in one["verdicts"]:
                id_ = verdict["claim"]["id"]
                claims[id_] = {**verdict, "run": run.resolve().name, "figures": one["figures"], "rules": rules[id_]}
            studies[name] = {"study": before["study"], "verdicts": list(claims.values())}
    for name in studies.keys() & set(all_studies()):
        studies[name]["verdicts"] = _as_in_file(read_study(STUDIES / f"{name}.yaml"), studies[name]["verdicts"])
    verdicts = [verdict for one in studies.values() for verdict in one["verdicts"]]
    for verdict, p in zip(verdicts, holm([verdict["p"] for verdict in verdicts]), strict=True):
        verdict["p_holm"] = p
    return {"studies": list(studies.values())}


def _as_in_file(study: StudyFile, verdicts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the verdicts on a study's claims; claims that are not comparable need no run."""
    known = {verdict["claim"]["id"]: verdict for verdict in verdicts}
    rules = _digest_claims(study)
    for claim in study.claim_documents():
        if claim["reason"]:
            verdict = not_comparable(claim, claim["reason"])
            known[claim["id"]] = {**verdict, "run": "", "figures": "", "rules": rules[claim["id"]]}
    return [known[name] for name in rules if name in known]


def section(kept: Mapping[str, Any] | None, rules: Mapping[str, Mapping[str, str]]) -> str:
    """Returns the text for the page's marked section; before the first run, there are no stored parts."""
    return NO_RUN if kept is None else "\n".join(_lines(kept, rules)) + "\n"


def _lines(kept: Mapping[str, Any], rules: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    verdicts: Sequence[Verdict] = [verdict for one in kept["studies"] for verdict in one["verdicts"]]
    older = [
        verdict["claim"]["id"]
        for one in kept["studies"]
        for verdict in one["verdicts"]
        if verdict["rules"] != rules[one["study"]["id"]].get(verdict["claim"]["id"])
    ]
    if older:
        yield OLDER.format(join_names(older))
        yield ""
    yield f"{count_verdicts(verdicts)} {several_note(verdicts)}"
    for one in kept["studies"]:
        yield ""
        yield f"{cite(one['study'])}, {_name_runs(one['verdicts'])}:"
        yield ""
        yield f"| {' | '.join(_HEADS)} |"
        yield f"|{'---|' * len(_HEADS)}"
        for verdict in one["verdicts"]:
            yield f"| {' | '.join(_cells(verdict))} |"


def _name_runs(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Names the runs of a study, with most claims first: `run A, figures VALID; R2 from run B, figures VALID`."""
    claims = defaultdict[tuple[str, str], list[str]](list)
    for verdict in verdicts:
        if verdict["run"]:
            claims[verdict["run"], verdict["figures"]].append(verdict["claim"]["id"])
    (first, *others) = sorted(claims, key=lambda run: len(claims[run]), reverse=True)
    rest = [f"{join_names(claims[run])} from {_name_run(*run)}" for run in others]
    return "; ".join([_name_run(*first), *rest])


def _name_run(name: str, figures: str) -> str:
    return f"run `{name}`, figures {figures}"


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
        "" if effect is None else _format_effect(effect, points=verdict["difference"]),
        ("stays" if (p or 0.0) < SIGNIFICANCE else "not shown") if decided else "",
        " ".join([*(verdict["why"] or [verdict["reason"]]), *qualify(verdict)]),
    ]
    return [re.sub(r"\s+", " ", cell).replace("|", r"\|") or numbers.NOTHING for cell in cells]


def _format_effect(effect: Estimate, *, points: bool) -> str:
    # With two decimals, a ratio near 1 shows on which side of 1 its interval lies.
    unit, least = ("points", 1) if points else ("", 2 if effect["value"] < 2 else 0)
    return numbers.figure(effect["value"], effect["ci95"], unit, least)


def write(runs: Sequence[Path]) -> None:
    """Stores the verdicts of runs, and writes their table into the page."""
    kept = verdicts_of(*runs, kept=json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else None)
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_marked(PAGE, MARK, section(kept, digest_rules()))
