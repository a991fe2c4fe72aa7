"""The terminal shows names of topologies, journeys and components unchanged, even with brackets."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import RenderableType

from experiment.commands.options import console
from experiment.commands.trace import print_exemplars, read_exemplars
from experiment.parity.across import Parity, parity_table
from hops.terminal.console import terminal
from hops.terminal.render import render
from proofs.measurement.delays import FoundDelay, delays_table
from proofs.measurement.resume import Kill, Proof, kills_view

JOURNEY, SERVICE = "GET /users/[id]", "gw[/red]"


def print_text(view: RenderableType) -> str:
    out = io.StringIO()
    terminal(out, width=300).print(view)
    return out.getvalue()


def test_consoles_of_commands_print_text_unchanged() -> None:
    out = console()
    with out.capture() as captured:
        out.print(f"{SERVICE} {JOURNEY}")
    assert captured.get() == f"{SERVICE} {JOURNEY}\n"


def test_parity() -> None:
    text = print_text(render([parity_table([Parity(SERVICE, {JOURNEY: 3}, {})])]))
    assert SERVICE in text
    assert JOURNEY in text


def test_proofs() -> None:
    row = FoundDelay(
        component=SERVICE, delay_ms=0.5, journey=JOURNEY, traces=(300, 900), crossings=1.0, paused_ms=0.532,
        expected_ms=0.532, found_ms=0.569, ci95=(0.563, 0.575), ci95_joint=(0.553, 0.585), largest=f"work:{SERVICE}",
        second="db:user", second_ms=0.1, whole_ms=0.6,
    )  # fmt: skip
    text = print_text(render([delays_table([row])]))
    assert SERVICE in text
    assert JOURNEY in text
    wrong = Proof(3, [Kill(1, 2.0, f"starting {SERVICE}", 1, (f"{JOURNEY} is lost",)), Kill(2, 3.0, "", 3, ())])
    text = print_text(render(kills_view(wrong)))
    assert f"starting {SERVICE}" in text
    assert f"{JOURNEY} is lost" in text


def test_exemplars(tmp_path: Path) -> None:
    trace_id = "a" * 32
    span = {"traceId": trace_id, "spanId": "b" * 16, "name": JOURNEY, "kind": "SPAN_KIND_SERVER", "attributes": []}
    span |= {"startTimeUnixNano": "1767225600000000000", "endTimeUnixNano": "1767225600010000000"}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": SERVICE}}]}
    file = tmp_path / "exemplars.jsonl"
    file.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}))
    out = io.StringIO()
    chosen = {JOURNEY: {"p50": trace_id}}
    loaded = read_exemplars(file, chosen, traced=9)
    print_exemplars(loaded, "http://127.0.0.1:1", terminal(out, width=40), journey=JOURNEY)
    link = f"http://127.0.0.1:1/trace/{trace_id}"
    output = " ".join(out.getvalue().split())
    for text in (
        f"{JOURNEY} p50 {link}",
        f"{JOURNEY}, p50: {link}",
        "1 exemplar of 9 traces is loaded.",
        f"work:{SERVICE}",
    ):
        assert text in output
