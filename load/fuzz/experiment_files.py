"""Corrupted files that the harness must read or reject: topologies, workloads, tapes and results."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import polars as pl
import yaml

from experiment.arguments import WORKLOADS
from experiment.cli import app
from experiment.commands.options import DOUBTFUL, reported_errors
from experiment.generator.shopload import BINARY
from experiment.plan.workload import mix_of
from fuzz.inputs import Input, mutate, odd
from fuzz.judge import ANSWERED, REFUSED, UNANSWERED
from hops.kinds import make_report
from mesh.description.topology import load_topology
from mesh.paths import TOPOLOGIES
from synthetic.run import write_generated_run

TOPOLOGY, WORKLOAD, TAPE = "topology.yaml", "workload.yaml", "tape.jsonl"
RESULTS = ("manifest.json", "trials.json", "summary.json", "journeys.parquet", "hops.parquet", "resources.parquet")
LIMIT_S, PATIENCE_S = 20.0, 60.0
"""Time limits for a command of the generator, and for all reads of a file."""
GO_CRASHED = "goroutine "
WORDS = (
    *(b"\n", b"\t", b"\0", b"\xff", b"&a ", b"*a", b"{", b"[" * 2_000, b"<<: "),
    *(b"!!python/name:os ", b"1e999", b"\x1b[31m"),
)


class Harness:
    """The programs of the harness that read files. Use it in a `with` statement, which removes the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._run, self._odd = folder, folder / "run", folder / "odd"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._run, ignore_errors=True)
        write_generated_run(self._run, topologies=("rest", "grpc"), blocks=2, journeys_per_trial=60)
        with contextlib.redirect_stdout(io.StringIO()):
            make_report(self._run)
        tape = self._folder / "valid.jsonl"
        made = _shopload("tape", "--workload", str(WORKLOADS / "default.yaml"), "--duration", "2s", "--out", str(tape))
        assert made[0] == 0, made[1]
        self.valid = {TOPOLOGY: _contents(TOPOLOGIES), WORKLOAD: _contents(WORKLOADS), TAPE: [tape.read_bytes()]}
        self.valid |= {name: [(self._run / name).read_bytes()] for name in RESULTS}
        # This target file is invalid on purpose, so that accepted tapes are not replayed.
        (self._folder / "target.json").write_text("{")
        self._start_reader()
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.kill()
        self._reader.join()
        shutil.rmtree(self._folder)

    def _start_reader(self) -> None:
        # A separate process can be killed. This is needed because a Rust library may hang forever after a panic.
        afresh = get_context("spawn")
        self._pipe, theirs = afresh.Pipe()
        self._reader = afresh.Process(target=_read, args=(theirs, self._folder, self._run, self._odd), daemon=True)
        self._reader.start()
        theirs.close()

    def inputs(self, surface: str, seed: str) -> Iterator[Input]:  # noqa: ARG002 - there is only one surface
        """Yields corrupted files endlessly, of every kind in turn."""
        chance = random.Random(seed)
        while True:
            for name, valid in self.valid.items():
                yield Input(name, _spoilt(chance, name, valid))

    def try_inputs(self, surface: str, batch: Sequence[Input]) -> Sequence[tuple[str, str, str]]:  # noqa: ARG002
        """Gives files to their readers; returns for each the class of the result, what is wrong, and the message."""
        return [self._try_one(one) for one in batch]

    def _try_one(self, one: Input) -> tuple[str, str, str]:
        with contextlib.suppress(EOFError, OSError):  # the reader died
            self._pipe.send(one)
            if self._pipe.poll(PATIENCE_S):
                result: tuple[str, str, str] = self._pipe.recv()
                return result
        self._reader.kill()
        self._reader.join()
        self._start_reader()
        return UNANSWERED, f"{one.way}: its reader died, or took more than {PATIENCE_S:g} s", ""

    def wrong(self) -> str:
        """Returns an empty text: the harness keeps no state that could be wrong."""
        return ""

    def faults(self) -> Mapping[str, str]:
        """Returns nothing: there are no logs."""
        return {}


def _read(pipe: Connection, folder: Path, run: Path, odd_run: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all processes; the parent handles it
    with _without_panics(), contextlib.suppress(EOFError):
        while True:
            pipe.send(_read_one(pipe.recv(), folder, run, odd_run))


def _read_one(one: Input, folder: Path, run: Path, odd_run: Path) -> tuple[str, str, str]:
    file = folder / f"odd-{one.way}"
    commands: list[Callable[[], Any]] = []
    if one.way in RESULTS:
        odd_run.mkdir(exist_ok=True)
        for name in RESULTS:
            (odd_run / name).unlink(missing_ok=True)
            if name != one.way:
                (odd_run / name).symlink_to(run / name)
        file = odd_run / one.way
        commands = [lambda: app(["decide", "--run", str(odd_run)], standalone_mode=False)]
        if crc32(one.data) % 8 == 0:  # rarely, because it takes longer
            between = ["--a", str(run), "--b", str(odd_run)]
            commands = [lambda: app(["compare-runs", *between], standalone_mode=False)]
    file.write_bytes(one.data)
    if one.way == TOPOLOGY:
        commands = [lambda: load_topology(str(file))]
    elif one.way == WORKLOAD:
        commands = [lambda: mix_of(file)]
    ends = [_run_python(command) for command in commands]
    out = str(folder / "out")
    if one.way == WORKLOAD:
        ends.append(_shopload("tape", "--workload", str(file), "--duration", "1s", "--out", out))
    elif one.way == TAPE:
        code, output = _shopload("replay", "--tape", str(file), "--target", str(folder / "target.json"), "--out", out)
        ends.append((0 if "target.json" in output else code, output))
    refused = any(code in (1, 2) for code, _ in ends)
    wrong = [what for code, output in ends if (what := _wrong(code, output, (file.name, odd_run.name)))]
    output = "\n".join(output for _, output in ends)
    return REFUSED if refused else ANSWERED, wrong[0] if wrong else "", output


@contextlib.contextmanager
def _without_panics() -> Iterator[None]:
    """Discards what Rust libraries write directly to standard error when they panic."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def _contents(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(folder.glob("*.yaml"))]


def _wrong(code: int, output: str, names: Sequence[str]) -> str:
    if code not in (0, 1, 2, DOUBTFUL) or GO_CRASHED in output:
        return output.strip().splitlines()[-1][:200] if output.strip() else f"exit code {code}"
    if set("\x1b\x07\x9b") & set(output):
        return "the message has terminal control characters"
    if code in (1, 2) and not any(name in output for name in names):
        return f"the message names no file: {output[:160]!r}"
    return ""


def _run_python(command: Callable[[], Any]) -> tuple[int, str]:
    """Runs a Python command; returns its exit code (-1 for a traceback) and its error messages."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()), reported_errors():
            command()
    except SystemExit as end:
        return int(end.code or 0), errors.getvalue()
    except BaseException as error:  # including panics of Rust libraries
        place, at = error.__traceback__, ""
        while place is not None:
            at = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
            place = place.tb_next
        return -1, f"{type(error).__name__} at {at}: {str(error)[:80]!r}"
    return 0, errors.getvalue()


def _shopload(*arguments: str) -> tuple[int, str]:
    try:
        done = subprocess.run([BINARY, *arguments], capture_output=True, timeout=LIMIT_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return -1, f"shopload {arguments[0]} took more than {LIMIT_S:g} s"
    return done.returncode, done.stderr.decode(errors="replace")


def _spoilt(chance: random.Random, name: str, valid: Sequence[bytes]) -> bytes:
    whole = chance.choice(valid)
    if name.endswith(".parquet"):
        spoilt = _frame(chance, whole) if chance.random() < 0.5 else mutate(chance, [whole])
    elif chance.random() < 0.3:
        spoilt = mutate(chance, valid, WORDS)
    elif name.endswith(".yaml"):
        spoilt = yaml.safe_dump(odd(chance, yaml.safe_load(whole))).encode()
    elif name.endswith(".jsonl"):
        lines = whole.splitlines()
        at = chance.randrange(len(lines))
        lines[at] = json.dumps(odd(chance, json.loads(lines[at]))).encode()
        spoilt = b"\n".join(lines) + b"\n"
    else:
        spoilt = json.dumps(odd(chance, json.loads(whole))).encode()
    return _as_declared(spoilt) if name == TAPE and chance.random() < 0.7 else spoilt


def _frame(chance: random.Random, whole: bytes) -> bytes:
    frame, out = pl.read_parquet(io.BytesIO(whole)), io.BytesIO()
    column = chance.choice(frame.columns)
    match chance.randrange(5):
        case 0:
            frame = frame.drop(column)
        case 1:
            frame = frame.head(chance.choice((0, 1)))
        case 2:
            frame = frame.with_columns(pl.lit(None, frame.schema[column]).alias(column))
        case 3:
            frame = frame.with_columns(pl.lit(chance.choice(("x", -1, 0.0, 2**31 - 1))).alias(column))
        case _:
            frame = pl.concat([frame, frame])
    frame.write_parquet(out)
    return out.getvalue()


def _as_declared(tape: bytes) -> bytes:
    """Corrects the hash and the number of journeys in a tape's header, if the first line is still a header."""
    header, _, body = tape.partition(b"\n")
    try:
        fields = json.loads(header)
        fields |= {"body_sha256": hashlib.sha256(body).hexdigest(), "journeys": body.count(b"\n")}
    except (ValueError, TypeError):
        return tape
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n" + body
