"""What a run says of growth, on looks whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hops.gates.limits import kind_of
from hops.kinds import make_report
from hops.kinds.soak.document import Document, Held, Soaked
from hops.kinds.soak.report import SOUND, doubts, held_table, shop_table
from hops.kinds.soak.trends import trend
from hops.run.documents import SCHEMA
from hops.run.documents.gate import VALID
from synthetic.run import plain_manifest

HOUR_S = 3_600.0
LOOKS = np.linspace(0.0, HOUR_S, 120)
SEED = 1


def held(growth_mb: float = 0.0, descriptors: float = 0.0) -> Held:
    """Noise of 0.3 MiB around 50, filled up in the first tenth, and growth in an hour."""
    filling = 20.0 * np.minimum(LOOKS / (0.1 * HOUR_S), 1.0)
    memory = 30.0 + filling + np.random.default_rng(SEED).normal(0.0, 0.3, LOOKS.size) + growth_mb * LOOKS / HOUR_S
    counts = np.floor(20 + descriptors * LOOKS / HOUR_S).astype(int)
    still = [12] * LOOKS.size
    return Held(memory_mb=memory.tolist(), descriptors=counts.tolist(), threads=still, connections=still)


def soaked(latency_growth_ms: float = 0.0, **more: Any) -> Soaked:
    minutes = (np.arange(60) + 0.5) * 60.0
    p50 = 10.0 + np.random.default_rng(SEED).normal(0.0, 0.2, 60) + latency_growth_ms * minutes / HOUR_S
    given: dict[str, Any] = {
        "topology": "rest",
        "journeys": 72_000,
        "failed": 0,
        "broken": [],
        "gates": [kind_of("other_cores").held(0.1), kind_of("failure_share").held(0.0)],
        "at_s": LOOKS.tolist(),
        "held": {"order": held(), "edge": held()},
        "database_mb": (40.0 + LOOKS / 360.0).tolist(),
        "minutes_s": minutes.tolist(),
        "latency_ms": {"p50": p50.tolist()},
    }
    return Soaked(**{**given, **more})  # type: ignore[typeddict-item]


def document(*rows: Soaked) -> Document:
    return Document(
        schema=SCHEMA, name="night", manifest=plain_manifest("rest"), minutes=60.0, rate=20.0, soaked=list(rows)
    )


def test_what_fills_once_is_no_growth(tmp_path: Path) -> None:
    (tmp_path / "soak.json").write_text(json.dumps(document(soaked())))
    page, verdict = make_report(tmp_path)
    assert verdict == VALID
    assert SOUND in page.read_text()
    assert {row[-1].text for row in held_table(document(soaked())).rows} == {"steady"}


def test_a_leak_is_named_by_component_and_by_what_it_leaks() -> None:
    leaking = document(soaked(held={"order": held(growth_mb=6.0), "user": held(descriptors=5.0), "edge": held()}))
    memory, descriptors = (doubt.text for doubt in doubts(leaking))
    assert memory.startswith("rest: order grows by ")
    assert memory.endswith(" MiB of memory an hour")
    assert descriptors.startswith("rest: user grows by ")
    assert descriptors.endswith(" descriptors an hour")
    verdicts = {row[1].text: row[-1].text for row in held_table(leaking).rows}
    assert verdicts == {"edge": "steady", "order": "GROWS: MiB of memory", "user": "GROWS: descriptors"}


def test_a_page_says_how_many_journeys_failed_and_leaves_figures_that_there_are_not_empty(tmp_path: Path) -> None:
    short = document(soaked(failed=3, minutes_s=[30.0], latency_ms={"p50": [10.0]}))
    (tmp_path / "soak.json").write_text(json.dumps(short))
    page, _ = make_report(tmp_path)
    assert "In rest, 3 of 72,000 journeys failed." in page.read_text()
    assert (tmp_path / "csv" / "shop.csv").read_text().splitlines()[-1] == 'rest,"p50, ms",,,,'


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"failed": 3}, "WRONG: rest: 3 of 72,000 journeys failed"),
        ({"gates": [kind_of("other_cores").held(0.9)]}, "NOISY: rest: CPU of other programs: 0.900 cores"),
        ({"broken": ["money adds up"]}, "WRONG: rest: money adds up: BROKEN"),
        ({"latency_growth_ms": 3.0}, "WRONG: rest: p50 of all journeys grows by "),
        (
            {"at_s": (LOOKS / 60).tolist()},
            "WRONG: rest: too short to tell growth from what fills once; give minutes=60",
        ),
    ],
)
def test_other_reasons_to_doubt(changed: dict[str, Any], said: str) -> None:
    (doubt,) = doubts(document(soaked(**changed)))
    assert str(doubt).startswith(said)


def test_slopes_are_found_and_their_intervals_hold_them() -> None:
    grows = trend(LOOKS.tolist(), held(growth_mb=6.0)["memory_mb"])
    assert grows is not None
    assert grows.ci95[0] < 6.0 < grows.ci95[1]
    assert grows.per_hour == pytest.approx(6.0, abs=0.7)
    assert trend(LOOKS[:5].tolist(), [1.0] * 5) is None
    assert trend([], []) is None
    database = shop_table(document(soaked())).rows[0]
    assert database[3].value == pytest.approx(10.0, rel=0.01)
