"""Does an experiment survive kills? Kills an experiment repeatedly at random moments, and checks what is left.

The experiment is real: two topologies in blocks, in a separate process, with a few seconds of load. After each
`kill -9` all its processes must be gone, and every trial that was finished before must still exist, byte for byte. A
complete experiment must have each planned trial once, and all with the same tape.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
import typer

from experiment.arguments import checked_seed, whole_number
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.profiles import Profile
from experiment.progress import short_path
from experiment.results.folder import PARTIAL, RESULTS, ResultsFolder, read_json
from experiment.runner import begin
from experiment.trial.finished_trials import RECORD, name_of
from experiment.trial.outcome import VEGETA
from hops.elements.element import Element, Points, Text
from hops.elements.table import Cell, Column, Table, whole, words
from mesh.description.options import Json
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.paths import ROOT, RunFolder
from mesh.supervisor.child import child_process
from proofs.outcome import Progress, give, proves, with_progress

NAME = "prove-resume"
TOPOLOGIES = ("grpc", "hybrid")
PROFILE = Profile("proof", warmup_s=1, duration_s=3, rate=20.0, parity_samples=1)
WORKLOAD = ROOT / "load" / "workloads" / "default.yaml"
EARLIEST_S, LATEST_S = 0.3, 8.0
"""Range of the seconds until a kill, once the drawn number of trials is finished; a trial takes 9 s or more."""
WATCH_S = 0.05
GONE_WITHIN_S = 5.0
"""Seconds that a run's processes may take to end after a kill."""
MAX_END_S = 900.0
MAX_KILLS = 100
MAX_BLOCKS = 10

Hashes = Mapping[str, Mapping[str, str]]
"""File -> SHA-256, by the name of the trial."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill and its effects.

    Attributes:
        number: Number of the kill, from 1; the last row of a proof is the end without a kill.
        after_s: Seconds from the process's start to its end.
        doing: The last line that the process printed.
        finished: Number of trials that are finished after the kill.
        wrong: Mistakes; empty if all is well.
    """

    number: int
    after_s: float
    doing: str
    finished: int
    wrong: tuple[str, ...]


@dataclass(slots=True)
class Proof:
    """The whole proof: every kill, and mistakes found at the end."""

    planned: int
    kills: list[Kill] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing was lost, nothing ran twice, and nothing was left running."""
        return not self.wrong and not any(kill.wrong for kill in self.kills)


def proof_plan(blocks: int, seed: int) -> Plan:
    arms = arms_of([load_topology(name) for name in TOPOLOGIES], parse_switches(trace=1))
    return Plan("proof", NAME, arms, blocks, PROFILE, seed, WORKLOAD)


def prove(plan: Plan, folder: ResultsFolder, log: Path, *, kills: int, seed: int, progress: Progress) -> Proof:
    """Starts, kills and resumes an experiment a given number of times, then lets it finish.

    Each kill waits until a drawn number of trials are finished, and then for a drawn number of seconds. So kills come
    at any moment of any trial, on a slow machine too. The folder of results exists and is not locked.
    """
    proof, run = Proof(len(plan.trials())), RunFolder.of(load_ports(os.environ).base)
    drawn = random.Random(f"{seed}/kills")
    after = sorted(drawn.randrange(proof.planned) for _ in range(kills))
    before: Hashes = {}
    for number in range(1, kills + 2):
        to_be_killed = number <= kills
        began, offset = time.monotonic(), log.stat().st_size if log.exists() else 0
        with _run_until_killed(folder, log) as child:
            try:
                if to_be_killed:
                    _wait_for(child, folder, log, offset, after[number - 1], drawn.uniform(EARLIEST_S, LATEST_S))
                else:
                    child.wait(MAX_END_S)
            except subprocess.TimeoutExpired:
                proof.wrong.append(f"start {number} of the experiment took more than {MAX_END_S:g} s; see {log}")
                return proof
            if to_be_killed and child.poll() is not None:
                proof.wrong.append(
                    f"the experiment ended by itself with code {child.returncode} before kill {number}; see {log}"
                )
                return proof
        after_s = time.monotonic() - began
        wrong = []
        if to_be_killed and (left := _left_running(run, folder)):
            wrong.append(f"processes left running: {', '.join(left)}")
        now = finished_trials(folder)
        wrong += changes(before, now)
        if not to_be_killed and child.returncode:
            wrong.append(f"the last start ended with code {child.returncode}; see {log}")
        proof.kills.append(Kill(number, after_s, _last_output(log, offset), len(now), tuple(wrong)))
        before = now
        progress(number)
    proof.wrong += at_the_end(plan, folder)
    return proof


def finished_trials(folder: ResultsFolder) -> dict[str, dict[str, str]]:
    """Hashes every file of every trial with a record, even if a crash came before its folder got its final name."""
    root = _where(folder)
    hashes: dict[str, dict[str, str]] = {}
    for record in root.glob(f"trials/*/{RECORD}"):
        trial = record.parent
        name = trial.name.removeprefix(".").removesuffix(PARTIAL)
        files = {str(path.relative_to(trial)): _hash(path) for path in sorted(trial.rglob("*")) if path.is_file()}
        # The end of an experiment moves vegeta's files to a separate folder.
        moved = root / "vegeta" / f"{name}.gob"
        if moved.is_file():
            files.setdefault(VEGETA, _hash(moved))
        hashes[name] = files
    return hashes


def changes(before: Hashes, now: Hashes) -> list[str]:
    """Returns forbidden changes to finished trials: lost trials, and missing, new or different files."""
    wrong = [f"trial {name} was lost" for name in sorted(before.keys() - now.keys())]
    for name in sorted(before.keys() & now.keys()):
        differing = {file for file, _ in before[name].items() ^ now[name].items()}
        if differing:
            wrong.append(f"trial {name} was changed: {', '.join(sorted(differing))}")
    return wrong


def at_the_end(plan: Plan, folder: ResultsFolder) -> list[str]:
    """Checks a complete experiment: returns unplanned trials, trials that ran twice, and different tapes."""
    root = folder.final
    if not root.is_dir():
        return [f"the results folder {root.name} does not exist"]
    planned = sorted(trial.name for trial in plan.trials())
    there = sorted(path.parent.name for path in root.glob(f"trials/*/{RECORD}"))
    wrong = [] if there == planned else [f"planned trials: {', '.join(planned)}; finished trials: {', '.join(there)}"]
    rows = read_json(root / "trials.json")["trials"]
    recorded = sorted(map(name_of, rows))
    if recorded != planned or any(row["attempt"] != 1 or not row["used"] for row in rows):
        wrong.append("trials.json does not list each trial exactly once, with its first attempt")
    tapes = {row["generator"]["tape_sha256"] for row in rows}
    if len(tapes) != 1:
        wrong.append(f"the trials replayed {len(tapes)} different tapes, but all must replay one")
    answers = {row["answers_sha256"] for row in rows}
    if len(answers) != 1:
        wrong.append(f"the trials gave {len(answers)} different sets of answers, but all must give the same")
    return wrong


@contextlib.contextmanager
def _run_until_killed(folder: ResultsFolder, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "proofs.measurement.killed_experiment", folder.final.name]
    with (
        log.open("ab") as output,
        child_process(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as child,
    ):
        try:
            yield child
        finally:
            child.kill()


def _wait_for(
    child: subprocess.Popen[bytes], folder: ResultsFolder, log: Path, offset: int, finished: int, more_s: float
) -> None:
    """Waits until a number of trials are finished, and then for some seconds, or until the process has ended.

    Raises:
        TimeoutExpired: That took more than `MAX_END_S`, as with an experiment that hangs after it was resumed.
    """
    since: float | None = None
    give_up_at = time.monotonic() + MAX_END_S
    while child.poll() is None:
        if time.monotonic() > give_up_at:
            raise subprocess.TimeoutExpired(child.args, MAX_END_S)
        begun = log.stat().st_size > offset
        if since is None and begun and len(list(_where(folder).glob(f"trials/[!.]*/{RECORD}"))) >= finished:
            since = time.monotonic()
        if since is not None and time.monotonic() - since >= more_s:
            return
        time.sleep(WATCH_S)


def _left_running(run: RunFolder, folder: ResultsFolder) -> list[str]:
    """Returns the run's processes that have not ended within `GONE_WITHIN_S` after the kill of their supervisor."""
    limit = time.monotonic() + GONE_WITHIN_S
    while True:
        left = sorted(_belonging(str(run.path), str(run.postgres.resolve()), folder.final.name))
        if not left or time.monotonic() > limit:
            return left
        time.sleep(0.05)


def _belonging(*marks: str) -> list[str]:
    """Finds other processes with one of these marks on their command line or in their environment."""
    processes = []
    mine = {psutil.Process().pid, *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid in mine or process.status() == psutil.STATUS_ZOMBIE:
                continue
            marked = " ".join([*process.cmdline(), *process.environ().values()])
            if any(mark in marked for mark in marks):
                processes.append(f"{process.name()} ({process.pid})")
    return processes


def _where(folder: ResultsFolder) -> Path:
    return folder.final if folder.final.is_dir() else folder.existing


def _last_output(log: Path, offset: int) -> str:
    with log.open("rb") as output:
        output.seek(offset)
        lines = [line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "no output yet"


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kills_view(proof: Proof) -> list[Element]:
    """Makes a table of the kills and the end, a list of mistakes, and the verdict."""
    columns = [Column("kill", numeric=False), Column("after", "s"), Column("last output before", numeric=False)]
    columns += [Column(f"finished of {proof.planned}"), Column("state", numeric=False)]
    rows = [
        [
            words("end" if kill is proof.kills[-1] and kill.finished == proof.planned else str(kill.number)),
            Cell(f"{kill.after_s:.1f}"),
            words(kill.doing),
            whole(kill.finished),
            words("WRONG: " + "; ".join(kill.wrong) if kill.wrong else "ok"),
        ]
        for kill in proof.kills
    ]
    title = f"An experiment of {proof.planned} trials, killed {len(proof.kills) - 1} times with SIGKILL"
    verdict = (
        f"All {proof.planned} trials exist exactly once and used the same tape. Finished trials are unchanged byte for "
        "byte, and no process survived a kill."
        if proof.holds
        else "The experiment did not survive being killed."
    )
    return [
        Table("kills", title, columns, rows),
        Points([f"WRONG: {wrong}" for wrong in proof.wrong]),
        Text(verdict, tone="verdict"),
    ]


@proves("prove-resume")
def prove_resume(*, kills: str, blocks: str, seed: str, as_json: Json = False) -> None:
    """Kill an experiment at random moments, resume it, and check that nothing was lost."""
    number = checked_seed(seed)
    plan = proof_plan(whole_number("blocks", blocks, 1, MAX_BLOCKS), number)
    how_often = whole_number("kills", kills, 1, MAX_KILLS)
    folder = begin(plan, RESULTS)
    folder.release()
    log = RESULTS / f"{folder.final.name}.log"
    typer.echo(f"{how_often} kills in {len(plan.trials())} trials; their output goes to {short_path(log)}", err=True)
    proof = with_progress(
        "Starts", how_often + 1, lambda step: prove(plan, folder, log, kills=how_often, seed=number, progress=step)
    )
    document = {"holds": proof.holds, **asdict(proof)}
    give(document, [*kills_view(proof), Text(f"Results: {short_path(_where(folder))}")], as_json=as_json)
