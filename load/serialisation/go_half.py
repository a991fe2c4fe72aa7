"""The Go half of the bench: a process that measures cells on request."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experiment.errors import GeneratorError, UsageError
from mesh.paths import ROOT
from mesh.supervisor.processes import guard
from serialisation.encodings import OF_GO, encode_for_go
from serialisation.rounds import DECODE, ENCODE, GUNZIP, GZIP, Cell, Size, Subject

BINARY = ROOT / ".tools" / "bin" / "serialisation"
OPERATIONS = (ENCODE, DECODE, GZIP, GUNZIP)
_STOP_S = 5.0


class GoHalf:
    """The process. Use it in a `with` statement.

    Raises:
        UsageError: The program is not built.
        GeneratorError: The process could not read an answer, or it ended.
    """

    def __init__(self, answers: Mapping[str, Any], binary: Path = BINARY) -> None:
        if not binary.is_file():
            raise UsageError(f"the bench's Go program is not built at {binary}: run `make bench-serialisation`")
        self._process = subprocess.Popen(  # noqa: S603 - our own binary
            guard([str(binary)], signal.SIGKILL),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # this process handles Ctrl-C in the terminal
        )
        try:
            self._sizes = self._ask({"answers": list(_inputs(answers))})["sizes"]
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def cells(self) -> Iterator[tuple[Subject, Size, list[Cell]]]:
        """Yields the subjects that Go can measure, with each answer's size."""
        for size in self._sizes:
            encoding, journey = size["encoding"], size["journey"]
            subject = Subject("Go", OF_GO[encoding], encoding, journey)
            operations = [Cell(subject, operation, self._lap(journey, encoding, operation)) for operation in OPERATIONS]
            yield subject, Size(size["bytes"], size["gzip_bytes"]), operations

    def _lap(self, journey: str, encoding: str, operation: str) -> Callable[[float], float]:
        cell = {"journey": journey, "encoding": encoding, "operation": operation}
        return lambda lap_s: float(self._ask({"cell": {**cell, "lap_us": lap_s * 1e6}})["us"])

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        try:
            to.write(json.dumps(question) + "\n")
            to.flush()
            line = back.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise GeneratorError(f"the bench's Go program ended with exit code {self._process.wait(_STOP_S)}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise GeneratorError(f"the bench's Go program: {answer['error']}")
        return answer

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _inputs(answers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for journey, answer in answers.items():
        for encoding, parts in encode_for_go(journey, answer).items():
            texts = [base64.b64encode(part).decode() for part in parts]
            yield {"journey": journey, "encoding": encoding, "parts": texts}
