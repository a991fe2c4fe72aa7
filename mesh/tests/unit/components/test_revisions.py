from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.components import revisions
from mesh.components.revisions import DECLARES, Checkout, find_checkout
from mesh.errors import InputError

AUTHOR = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    argv = ["git", "-C", str(folder), *AUTHOR, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout.strip()


def commit(folder: Path, contract: str) -> None:
    """Commits a version whose components have this contract."""
    (folder / DECLARES).write_text(f'CONTRACT = "{contract}"\n', encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", f"contract {contract}")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with two commits, which replaces this checkout's; no Python environments are made."""
    folder = tmp_path / "repository"
    for name in (DECLARES, "services/code.py"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("", encoding="utf-8")
    git(folder, "init", "--quiet")
    for _ in range(2):
        commit(folder, "1")
    monkeypatch.setattr(revisions, "ROOT", folder)
    monkeypatch.setattr(revisions, "VERSIONS", folder / ".tools" / "versions")
    monkeypatch.setattr(revisions, "run", lambda step: "")
    return folder


def test_the_commit_that_is_checked_out_needs_no_worktree(repository: Path) -> None:
    assert find_checkout("a", "HEAD").folder == find_checkout("b", str(repository)).folder == ""
    assert git(repository, "worktree", "list").count("\n") == 0


def test_another_commit_gets_a_worktree_that_is_used_again(repository: Path) -> None:
    before = git(repository, "rev-parse", "HEAD~1")
    made = find_checkout("a", "HEAD~1")
    assert (made.commit, made.folder) == (before, f".tools/versions/{before[:12]}")
    assert git(made.path, "rev-parse", "HEAD") == before
    assert find_checkout("b", before) == Checkout("b", before, before, made.folder)
    (made.path / "services" / "code.py").write_text("changed", encoding="utf-8")
    with pytest.raises(InputError, match=r"a=HEAD~1: services/code.py below .* differs .* `make clean-versions`"):
        find_checkout("a", "HEAD~1")


def test_a_worktree_whose_folder_was_removed_is_made_again(repository: Path) -> None:
    path = find_checkout("a", "HEAD~1").path
    path.rename(path.with_name("elsewhere"))
    assert find_checkout("a", "HEAD~1").path == path
    assert path.is_dir()


def test_an_invalid_version_is_refused(repository: Path, tmp_path: Path) -> None:
    for given, says in (
        ("", "a= is missing"),
        ("no-such", "a=no-such is not a revision of this repository: give a commit, a branch or a tag"),
        ("--all", "a=--all is not a revision"),
        ("./no-such", "is not the top folder of a git checkout of this project"),
        (str(repository / "services"), "is not the top folder"),
        (str(tmp_path), "is not the top folder"),
    ):
        with pytest.raises(InputError, match=says):
            find_checkout("a", given)


def test_a_folder_with_changes_is_refused_unless_they_are_elsewhere(repository: Path) -> None:
    (repository / "README.md").write_text("changed", encoding="utf-8")
    kept = find_checkout("b", str(repository))
    (repository / "services" / "new.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"b=.*: services/new.py below .* commit or stash"):
        find_checkout("b", str(repository))
    with pytest.raises(InputError, match=r"services/new\.py"):
        kept.require_unchanged()  # this check runs before each trial
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "new")
    with pytest.raises(InputError, match=f"was at {kept.commit[:12]} and is now at"):
        kept.require_unchanged()


@pytest.mark.parametrize("contract", ["2", ""])
def test_another_contract_is_refused_before_anything_is_made(repository: Path, contract: str) -> None:
    commit(repository, contract)
    commit(repository, "1")
    with pytest.raises(InputError, match=f"has contract {contract}, and this checkout runs components of contract 1"):
        find_checkout("a", "HEAD~1")
    assert not revisions.VERSIONS.exists()


def test_an_interrupted_worktree_leaves_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = revisions.subprocess.run
    before = git(repository, "rev-parse", "HEAD~1")
    path = revisions.VERSIONS / before[:12]

    def run(argv: list[str], **options: object) -> object:
        done = ran(argv, **options)  # type: ignore[call-overload]
        if "add" in argv:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(revisions.subprocess, "run", run)
    with pytest.raises(KeyboardInterrupt):
        find_checkout("a", "HEAD~1")
    assert not path.exists()
    monkeypatch.undo()
    assert git(repository, "worktree", "list").count("\n") == 0
