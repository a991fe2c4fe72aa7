from __future__ import annotations

import pytest

from experiment.errors import UsageError
from experiment.kinds.watch import parse_ways


@pytest.mark.parametrize(
    ("given", "message"),
    [("pull", "'pull' is unknown; valid: push, poll"), ("push,push", "give each way once"), ("", "'' is unknown")],
)
def test_other_ways_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_ways(given)
