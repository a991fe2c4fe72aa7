"""Warns a user early in a long run that other programs or the machine disturb it."""

from __future__ import annotations

from hops.conclusions.wording import programs_text
from hops.gates.verdict import verdict_of
from hops.run.documents.gate import NOISY
from hops.run.documents.trial import TrialRecord

LONG, FIRST_TRIALS = 4, 2
"""A run of at least `LONG` trials warns early if its first `FIRST_TRIALS` trials are NOISY."""


class NoiseWarning:
    """Notes the verdicts of a run's first trials."""

    def __init__(self) -> None:
        self._noisy: list[TrialRecord] | None = []

    def after(self, record: TrialRecord, trials: int) -> str | None:
        """Returns a warning, at most once, if all of the first trials in a run of this many trials are NOISY."""
        if self._noisy is None or trials < LONG:
            return None
        self._noisy = [*self._noisy, record] if verdict_of(record["gates"]) == NOISY else None
        if self._noisy is None or len(self._noisy) < FIRST_TRIALS:
            return None
        programs = {(one["name"], one["pid"]): one for trial in self._noisy for one in trial.get("programs", [])}
        by = f" ({programs_text(programs.values())})" if programs else ""
        self._noisy = None
        return (
            f"the first {FIRST_TRIALS} trials are NOISY because of the machine{by}. Ctrl-C keeps finished trials; "
            "resume=latest retry=1 repeats trials that fail a gate"
        )
