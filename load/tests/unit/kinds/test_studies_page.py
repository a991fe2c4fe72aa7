"""The page about studies shows the figures of the named run, and says if that run used older rules."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from experiment.kinds.studies.page import KEPT, MARK, NO_RUN, OLDER, PAGE, digest_rules, section, verdicts_of
from experiment.kinds.studies.study import STUDIES
from experiment.marked import replace_marked
from hops.kinds import make_report
from hops.run.files import MANIFEST, SUMMARY, read_document
from synthetic.of_studies import STUDY, synthetic_claim, write_synthetic_replay

RULES = {"T1": "one", "T2": "two", "T3": "three"}


def copy_as(run: Path, folder: Path, study: str = STUDY, keep: slice = slice(None)) -> Path:
    """Copies a run as the run of another study, or of some of its claims."""
    shutil.copytree(run, folder)
    summary, manifest = read_document(folder / SUMMARY), read_document(folder / MANIFEST)
    summary["studies"][0]["study"]["id"] = study
    summary["studies"][0]["verdicts"] = summary["studies"][0]["verdicts"][keep]
    (folder / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    (folder / MANIFEST).write_text(json.dumps({**manifest, "study_rules": {study: RULES}}), encoding="utf-8")
    return folder


def test_the_page_s_table_is_made_from_its_run() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else None
    page = PAGE.read_text(encoding="utf-8")
    again = "rebuild the table: .venv/bin/python -m experiment.kinds.studies results/RUN"
    assert replace_marked(page, MARK, section(kept, digest_rules())) == page, again


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    claims = [
        synthetic_claim("T1", relation="ratio", value=0.7, under={"payload": "100B"}, source="table"),
        synthetic_claim("T2", relation="gt"),
        synthetic_claim("T3", reason="it needs another moon", loads=[]),
    ]
    folder = tmp_path_factory.mktemp("studies") / "20261129-studies"
    write_synthetic_replay(folder, claims, {"rest-flat": 1.0, "grpc-flat": 0.7}, journeys=60)
    manifest = read_document(folder / MANIFEST)
    (folder / MANIFEST).write_text(json.dumps({**manifest, "study_rules": {STUDY: RULES}}), encoding="utf-8")
    make_report(folder)
    return folder


def test_a_row_has_the_figures_of_the_summary(run: Path) -> None:
    kept = verdicts_of(run)
    (study,) = read_document(run / SUMMARY)["studies"]
    assert kept["studies"][0]["study"] == study["study"]
    assert kept["studies"][0]["verdicts"] == [
        {**verdict, "run": "20261129-studies", "figures": study["figures"], "rules": RULES[verdict["claim"]["id"]]}
        for verdict in study["verdicts"]
    ]
    text = section(kept, {STUDY: RULES})
    assert text.startswith("Of 3 claims, 1 holds, 1 is contradicted and 1 is not comparable.")
    assert ", run `20261129-studies`, figures " in text
    first, second, third = [line for line in text.splitlines() if line.startswith("| T")]
    effect = study["verdicts"][0]["effect"]
    assert first.startswith(
        "| T1 | latency, p50: grpc 0.7 times rest (in its table) | payload 100B | `grpc` and `rest` | holds | inside |"
    )
    assert f"{effect['value']:.3f}"[:4] in first
    assert "| stays |" in first
    assert "between their means" in second
    assert third.endswith("| It needs another moon. |")


def runs_of(kept: dict[str, Any]) -> dict[str, list[str]]:
    return {one["study"]["id"]: [verdict["run"] for verdict in one["verdicts"]] for one in kept["studies"]}


def test_the_last_run_of_a_claim_counts_and_the_correction_is_over_all_studies(run: Path, tmp_path: Path) -> None:
    some, other = copy_as(run, tmp_path / "some", keep=slice(0, 2)), copy_as(run, tmp_path / "other", "other")
    kept = verdicts_of(run, other, some)
    assert runs_of(kept) == {STUDY: ["some", "some", run.name], "other": ["other"] * 3}
    text = section(kept, {STUDY: RULES, "other": RULES})
    assert re.search(rf"run `some`, figures \w+; T3 from run `{run.name}`, figures \w+:", text)
    alone = read_document(run / SUMMARY)["studies"][0]["verdicts"]
    for one in kept["studies"]:
        for verdict, before in zip(one["verdicts"], alone, strict=True):
            if verdict["p"]:
                assert verdict["p_holm"] > before["p_holm"]


def test_claims_that_no_run_replayed_keep_their_verdicts(run: Path, tmp_path: Path) -> None:
    some, other = copy_as(run, tmp_path / "some", keep=slice(1, 2)), copy_as(run, tmp_path / "other", "other")
    assert verdicts_of(other, some, kept=verdicts_of(run)) == verdicts_of(run, other, some)
    assert verdicts_of(run, kept=verdicts_of(run, other)) == verdicts_of(run, other)


def test_the_page_names_claims_with_other_rules(run: Path) -> None:
    older = OLDER.format("T2")
    assert section(verdicts_of(run), {STUDY: {**RULES, "T2": "changed"}}).startswith(older)
    assert older not in section(verdicts_of(run), {STUDY: RULES})
    assert section(None, {STUDY: RULES}) == NO_RUN


def test_blocks_that_were_left_out_are_named(run: Path) -> None:
    kept = verdicts_of(run)
    kept["studies"][0]["verdicts"][0]["left_out"] = [3, 7]
    assert "Left out because of NOISY trials: blocks 3 and 7." in section(kept, {STUDY: RULES})


def test_claims_that_are_not_comparable_need_no_run(run: Path, tmp_path: Path) -> None:
    (study,) = verdicts_of(copy_as(run, tmp_path / "niswar", "niswar"))["studies"]
    nested = ["N3", "N4", "N4-prose", "N5", "N7", "N9"]
    assert [(one["claim"]["id"], one["outcome"], one["run"]) for one in study["verdicts"]] == [
        (name, "not comparable", "") for name in nested
    ]
    assert {name: digest_rules()["niswar"][name] for name in nested} == {
        one["claim"]["id"]: one["rules"] for one in study["verdicts"]
    }


def test_a_changed_load_changes_the_digests_of_its_claims_alone(tmp_path: Path) -> None:
    for file in STUDIES.glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    assert digest_rules(tmp_path) == digest_rules()
    niswar = tmp_path / "niswar.yaml"
    text = niswar.read_text(encoding="utf-8")
    niswar.write_text(text.replace("not_replayed: MySQL", "not_replayed: another database"), encoding="utf-8")
    assert digest_rules(tmp_path) == digest_rules()
    niswar.write_text(text.replace("users: 100\n", "users: 101\n", 1), encoding="utf-8")
    changed, before = digest_rules(tmp_path), digest_rules()
    differ = {claim for name, one in before.items() for claim in one if changed[name][claim] != one[claim]}
    assert differ == {"N1", "N2", "N6"}


def test_a_folder_without_a_run_of_studies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no summary\.json; give the folder of a finished run"):
        verdicts_of(tmp_path)
