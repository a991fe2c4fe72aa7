"""What all tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiment.commands import preflight


@pytest.fixture(scope="session", autouse=True)
def look_s() -> Iterator[float]:
    """Lets commands begin without first watching other programs for seconds; the value is the usual length."""
    usual_s = preflight.LOOK_S
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "LOOK_S", 0.0)
        yield usual_s
