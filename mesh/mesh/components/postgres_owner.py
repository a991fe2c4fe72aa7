"""Which user PostgreSQL runs as, and where its programs and data are.

An ordinary user runs the installed programs with a data folder inside the run's folder. PostgreSQL refuses to run as
root, so root runs it as a nameless user without privileges, who cannot enter a checkout that belongs to root alone. So
for root, the data and a copy of the programs are in a system folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import hashlib
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

from mesh.errors import StartError
from mesh.paths import POSTGRES_PACKAGE, RunFolder, postgres_programs

STATE = Path("/var/lib/hopwise")
"""Folder of root's clusters; only root can write there, so no other user can block the path."""

UIDS = range(60706, 61184)
"""User ids that no account or systemd service gets (https://systemd.io/UIDS-GIDS), and that every container has."""

REMEDY = "Run as another user, or set DATABASE_URL to your own server."
_COPIED = ("bin/postgres", "bin/initdb", "lib/postgresql", "share")


@dataclass(frozen=True)
class User:
    """A user and a group to run programs as."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Cluster:
    """The data of one server (PostgreSQL calls them a cluster), and how its programs are run.

    Attributes:
        data: The data folder; the server's other files are next to it.
        programs: Folder of `postgres` and `initdb`.
        owner: User who owns the data and runs the server; None for the user of this process.
        maker: User who runs `initdb`, which refuses users without a name; None for the user of this process.
    """

    data: Path
    programs: Path
    owner: User | None = None
    maker: User | None = None

    def initdb(self, *arguments: str) -> list[str]:
        """The command line of `initdb`; raises a StartError if this machine cannot change users."""
        return [*_as_user(self.maker), str(self.programs / "initdb"), *arguments]

    def postgres(self, *arguments: str) -> list[str]:
        """The command line of the server; raises a StartError if this machine cannot change users."""
        return [*_as_user(self.owner), str(self.programs / "postgres"), *arguments]

    def give_to_maker(self, path: Path) -> None:
        """Lets `initdb` use a file or folder."""
        if self.maker is not None:
            os.chown(path, self.maker.uid, self.maker.gid)

    def give_to_owner(self, top: Path) -> None:
        """Lets the server use a folder and everything in it."""
        if self.owner is not None:
            for path in (top, *top.rglob("*")):
                os.lchown(path, self.owner.uid, self.owner.gid)


def open_cluster(folder: RunFolder, state: Path = STATE) -> Cluster:
    """Returns the cluster of a run's folder, whose lock is held; for root, also copies the programs into the folder of
    root's clusters, and removes the data of deleted runs.

    Raises:
        StartError: This machine cannot run PostgreSQL for root; the message has the reason and the alternatives.
    """
    if os.geteuid() != 0:
        if folder.postgres.is_symlink():  # root used this checkout before, and others may not use root's data
            folder.postgres.unlink()
        return Cluster(folder.postgres, postgres_programs(), None)
    owner = _unused_user()
    try:
        with _locked(state):
            place = _claim(folder, state, owner)
            _remove_unclaimed(state)
            programs = _copied_programs(state, owner)
    except OSError as error:
        raise StartError(
            f"PostgreSQL does not run as root, so its programs and data are kept in {state} for another user, and "
            f"{error.filename or state} cannot be written: {error.strerror}. Free space there or make it writable. "
            + REMEDY
        ) from error
    return Cluster(place / "postgres", programs, owner, User(_uid_with_a_name(), owner.gid))


def remove_cluster(folder: RunFolder, state: Path = STATE) -> None:
    """Removes the data that root's runs keep outside of a run's folder; with the last data, the programs too."""
    if not folder.postgres.is_symlink():
        return
    folder.postgres.unlink()
    if os.geteuid() == 0 and state.is_dir():
        with _locked(state):
            if not _remove_unclaimed(state):
                shutil.rmtree(state / "programs", ignore_errors=True)


def _claim(folder: RunFolder, state: Path, owner: User) -> Path:
    """The place of a run's data. It belongs to the run for as long as a link in the run's folder points to it."""
    run = folder.path.resolve()
    place = state / "data" / hashlib.sha256(os.fsencode(run)).hexdigest()[:16]
    _make_enterable(place.parent)
    place.mkdir(mode=0o700, exist_ok=True)
    os.chown(place, 0, owner.gid)
    place.chmod(0o710)  # the group has no other members, so other processes of the maker's user cannot enter
    (place / "run").write_bytes(os.fsencode(run))
    link = folder.postgres
    if link.is_dir() and not link.is_symlink():
        print(f"The database in {link} belongs to another user or version, so it is recreated.", file=sys.stderr)
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(place / "postgres")
    return place


def _remove_unclaimed(state: Path) -> list[Path]:
    """Removes the places whose runs are gone, and returns the others."""
    places = list((state / "data").glob("*"))
    for place in places:
        if not _claimed(place) and not _serves(place / "postgres"):
            shutil.rmtree(place)
    return [place for place in places if place.is_dir()]


def _claimed(place: Path) -> bool:
    try:
        run = Path(os.fsdecode((place / "run").read_bytes()))
        return (run / "postgres").readlink() == place / "postgres"
    except OSError:
        return False


def _serves(data: Path) -> bool:
    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
        return psutil.Process(pid).name() == "postgres"
    except (OSError, ValueError, IndexError, psutil.Error):
        return False


def _copied_programs(state: Path, owner: User) -> Path:
    """The folder from which the owner can run the programs; they are copied once for each version of their package."""
    installed = postgres_programs().parent
    record = metadata.distribution(POSTGRES_PACKAGE).read_text("RECORD") or ""  # a digest of every file
    copy = state / "programs" / hashlib.sha256(record.encode()).hexdigest()[:16]
    # The programs find their shared libraries by a path relative to this one.
    programs = Path(installed.parent.name, installed.name, "bin")
    if not copy.is_dir():
        _make_enterable(copy.parent)
        new = copy.with_name(f"{copy.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        home = new / programs.parent
        for path in _COPIED:
            _copy(installed / path, home / path)
        libraries = installed.parent.with_name(f"{installed.parent.name}.libs")
        if libraries.is_dir():
            _copy(libraries, new / libraries.name)
        _let_others_read(new)
        _require_runs(new / programs, owner)
        new.rename(copy)
    _require_runs(copy / programs, owner)
    return copy / programs


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("pgxs"))
    else:
        shutil.copy2(source, target)


def _let_others_read(top: Path) -> None:
    for path in (top, *top.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _require_runs(programs: Path, owner: User) -> None:
    command = [*_as_user(owner), str(programs / "postgres"), "--version"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, timeout=30)  # noqa: S603
    if done.returncode != 0:
        cause = done.stderr.strip() or f"exit code {done.returncode}"
        raise StartError(
            f"PostgreSQL does not run as root, and user {owner.uid} cannot run it from {programs}: {cause}. Every "
            f"user must be able to enter that folder and to run programs from it. {REMEDY}"
        )


def _as_user(user: User | None) -> list[str]:
    """The first part of a command line that runs as another user, without root's privileges or a way to gain them."""
    if user is None:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StartError(
            "PostgreSQL does not run as root, and there is no `setpriv` (from util-linux) to change users. " + REMEDY
        )
    options = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups")
    return [setpriv, *options, "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"]


def _unused_user() -> User:
    """The first number that is neither a user id nor a group id, because other programs may run as `nobody`."""
    for number in UIDS:
        if not _is_known(pwd.getpwuid, number) and not _is_known(grp.getgrgid, number):
            return User(number, number)
    raise StartError(
        f"PostgreSQL does not run as root, and all user ids {UIDS.start} to {UIDS.stop - 1} are taken. {REMEDY}"
    )


def _is_known(look_up: Callable[[int], object], number: int) -> bool:
    try:
        look_up(number)
    except KeyError:
        return False
    return True


def _uid_with_a_name() -> int:
    """The uid of `nobody`, or of another user who is not root. Other programs with this uid can neither reach the data
    during their creation nor inspect `initdb`: both also require the group."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody").pw_uid
    others = [user.pw_uid for user in pwd.getpwall() if user.pw_uid != 0]
    if not others:
        raise StartError(f"PostgreSQL does not run as root, and this machine has no other user. {REMEDY}")
    return max(others)


def _make_enterable(folder: Path) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    folder.chmod(0o711)  # overrides the umask; a user who could open the folder could lock it and block every start


@contextlib.contextmanager
def _locked(state: Path) -> Iterator[None]:
    """Serialises starts and clean-ups on this machine."""
    _make_enterable(state)
    lock = os.open(state, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
