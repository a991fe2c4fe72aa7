"""How a trial ends if a part of it fails."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiment.errors import DatabaseFailedError
from experiment.trial.outcome import Clock
from experiment.trial.run import ready


class Started(nullcontext[None]):
    """A system that has started, and whose database does not answer."""

    topology = SimpleNamespace(name="rest")
    in_words = "database"
    database = SimpleNamespace(admin_url="postgresql://me:secret@127.0.0.1:9/postgres")
    trial = "1-rest"

    def __init__(self, logs: Path) -> None:
        super().__init__()
        self.logs = logs


def test_a_database_that_ended_is_an_error_with_the_place_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "postgres.log").write_text("FATAL: no space left")
    kept = tmp_path / "trial"
    nothing: Any = None
    with (
        pytest.raises(DatabaseFailedError, match=rf"(?s)127.0.0.1.*refused.* is in {kept / 'logs'}$"),
        ready(Started(tmp_path), nothing, nothing, nothing, kept, Clock(), lambda _: None),  # type: ignore[arg-type]
    ):
        pytest.fail("a trial without a database has begun")
    assert (kept / "logs" / "postgres.log").read_text() == "FATAL: no space left"
