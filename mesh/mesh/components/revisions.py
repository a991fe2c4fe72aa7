"""Checkouts that supply components: this checkout, another folder, or a git worktree of a revision.

A worktree and its Python environment are made once for each commit, below `.tools/versions`, and reused.
`make clean-versions` removes them.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mesh.components.shop_processes import CONTRACT
from mesh.errors import InputError
from mesh.paths import ROOT
from provision.errors import SetupError
from provision.paths import TOOLS
from provision.step import Step, run, say

VERSIONS = TOOLS / "versions"
SUPPLIES = ("services", "graphql-gateway", "rest-gateway", "proto", "pyproject.toml", "requirements.lock")
"""The paths that a checkout supplies; changes elsewhere do not matter."""
DECLARES = "mesh/mesh/components/shop_processes.py"
_CONTRACT = re.compile(r'^CONTRACT = "([^"]*)"$', re.MULTILINE)
_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout that supplies components, in a folder in the form of `Topology.checkout`.

    Attributes:
        name: Name of the setting that chose it.
        given: What the user gave: a revision or a folder.
    """

    name: str
    given: str
    commit: str
    folder: str

    @property
    def path(self) -> Path:
        """The checkout's folder on this machine."""
        return ROOT / self.folder

    def require_unchanged(self) -> None:
        """Checks that the folder exists at its commit, and that nothing that it supplies differs from that commit.

        Raises:
            InputError: The folder is missing or has changed; the message says what to do.
        """
        where = f"{self.name}={self.given}"
        commit = _git(self.path, "rev-parse", "HEAD") if self.path.is_dir() else ""
        if not commit:
            raise InputError(f"{where}: {self.path} is gone, or is not a git checkout; start a new comparison")
        if commit != self.commit:
            raise InputError(
                f"{where}: {self.path} was at {self.commit[:12]} and is now at {commit[:12]}; check out the first "
                "commit and resume, or start a new comparison"
            )
        if changed := _git(self.path, "status", "--porcelain", "--", *SUPPLIES).splitlines():
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            fix = "remove it with `make clean-versions`" if self.path.parent == VERSIONS else "commit or stash it"
            raise InputError(
                f"{where}: {changed[0].split(maxsplit=1)[-1]}{more} below {self.path} differs from commit "
                f"{commit[:12]}, so the comparison could not be repeated: {fix}"
            )


def find_checkout(name: str, given: str) -> Checkout:
    """Finds a checkout, and makes the worktree and the environment that it needs.

    `name` is the setting, and `given` a revision of this repository; or a folder, which begins with `.`, `/` or `~`.

    Raises:
        InputError: There is no such checkout, its contract differs, or its files were changed.
        StartError: Its environment cannot be made.
    """
    if not given:
        raise InputError(f"give two revisions or folders, such as {name}=HEAD~1; {name}= is missing")
    checkout = _of_folder(name, given) if given[0] in "./~" else _of_revision(name, given)
    checkout.require_unchanged()
    _require_contract(checkout, checkout.path.joinpath(DECLARES).read_text(encoding="utf-8"))
    # A worktree never changes, so neither does its environment. The environment of a folder may be older than the
    # folder's lock file.
    made = checkout.path.parent == VERSIONS and (checkout.path / ".venv" / ".synced").is_file()
    if checkout.folder and not made:
        _make_environment(checkout)
    return checkout


def disk_use() -> str:
    """How much disk space the worktrees and environments of revisions take, for people; empty without them."""
    folders = [one for one in VERSIONS.glob("*") if one.is_dir()] if VERSIONS.is_dir() else []
    if not folders:
        return ""
    files = [Path(top, name).lstat() for folder in folders for top, _, names in os.walk(folder) for name in names]
    whole, own = ({one.st_ino: one.st_blocks * 512 for one in files if one.st_nlink <= most} for most in (10**6, 1))
    versions = "1 version takes" if len(folders) == 1 else f"{len(folders)} versions take"
    return (
        f"{versions} {sum(whole.values()) / 1e6:,.0f} MB below {VERSIONS.relative_to(ROOT)}, of which "
        f"{sum(own.values()) / 1e6:,.0f} MB are not shared with uv's cache; `make clean-versions` removes them."
    )


def _of_folder(name: str, given: str) -> Checkout:
    path = Path(given).expanduser().resolve()
    top = _git(path, "rev-parse", "--show-toplevel") if path.is_dir() else ""
    if not top or Path(top).resolve() != path or not (path / DECLARES).is_file():
        raise InputError(f"{name}={given}: {path} is not the top folder of a git checkout of this project")
    folder = "" if path == ROOT else str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return Checkout(name, given, _git(path, "rev-parse", "HEAD"), folder)


def _of_revision(name: str, given: str) -> Checkout:
    commit = _git(ROOT, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{given}^{{commit}}")
    if not commit:
        raise InputError(
            f"{name}={given} is not a revision of this repository: give a commit, a branch or a tag that it has, or a "
            "folder such as . or ../other. A shallow clone has few revisions; `git fetch --unshallow` fetches all"
        )
    here = Checkout(name, given, commit, "")
    with contextlib.suppress(InputError):
        here.require_unchanged()
        return here
    _require_contract(here, _git(ROOT, "show", f"{commit}:{DECLARES}"))
    path = VERSIONS / commit[:12]
    if not path.is_dir():
        _add_worktree(path, commit)
    return Checkout(name, given, commit, str(path.relative_to(ROOT)))


def _require_contract(checkout: Checkout, declares: str) -> None:
    declared = _CONTRACT.search(declares)
    if declared is None or declared[1] != CONTRACT:
        has = f"has contract {declared[1]}" if declared else "is older than the contract of components"
        raise InputError(
            f"{checkout.name}={checkout.given}: commit {checkout.commit[:12]} {has}, and this checkout runs components "
            f"of contract {CONTRACT} (SHOP_CONTRACT, docs/system/your-component.md). Give revisions with contract "
            f"{CONTRACT}, or compare from a checkout with their contract"
        )


def _add_worktree(path: Path, commit: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _git(ROOT, "worktree", "prune")  # forgets worktrees whose folders were removed
    try:
        done = _run_git(ROOT, "worktree", "add", "--quiet", "--detach", str(path), commit)
        if done.returncode:
            raise InputError(f"git cannot make a worktree of {commit[:12]}: {done.stderr.strip()}")
    except BaseException:
        _git(ROOT, "worktree", "remove", "--force", str(path))
        raise


def _make_environment(checkout: Checkout) -> None:
    """Sets up another checkout's Python packages as `make setup` does; quick if nothing is missing."""
    step = Step(
        title=f"Environment of {checkout.commit[:12]} (the packages of its lock file)",
        hint="20 s, more on a slow network",
        # Without site-packages, so that Python finds only the other checkout's modules.
        argv=[sys.executable, "-S", "-m", "provision", "venv"],
        advice=f"To try again, repeat the command; `make clean-versions` removes what was made below {VERSIONS}.",
        cwd=checkout.path,
        env={
            "PYTHONPATH": str(checkout.path / "mesh"),
            "PATH": f"{TOOLS / 'uv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        },
    )
    try:
        run(step)
    except SetupError as error:
        raise InputError(f"{checkout.name}={checkout.given}: {error}") from error
    if used := disk_use():
        say(used)


def _git(folder: Path, *arguments: str) -> str:
    """The output of a git command; empty if the command fails."""
    try:
        done = _run_git(folder, *arguments)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _run_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)  # noqa: S603 - ours
