"""The tables as people see them. HOPS_UPDATE_GOLDEN=1 rewrites the golden files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hops.kinds.bench.terminal import bench
from hops.tables.network import bytes_table, wire_table
from hops.tables.view import SummaryView
from hops.terminal.render import render as elements

from ...conclusions.summaries import cell as hand_made
from ...report.pages import print_view

GOLDEN = Path(__file__).parent / "golden"


def cell(count, p50, errors=None, traces=0, budget=None, upper=True):
    budget = budget or {}
    return hand_made(p50) | {
        "count": count, "errors": {"client": 0, "server": 0, "timeout": 0, "wrong_answer": 0} | (errors or {}),
        "requests_per_journey": 1.25, "parallel_mean": 1.25, "bytes_in_mean": 2048.0, "bytes_in_raw_mean": 182_345.6,
        "bytes_out_mean": 300.0, "wire_in_mean": 22_345.6, "wire_out_mean": 123.4,
        "latency_ms": {
            "mean": p50 * 1.1, "p50": p50, "p90": p50 * 2, "p95": p50 * 2.5, "p99": p50 * 4, "p99_9": p50 * 5,
            "max": p50 * 6,
        },
        "latency_ci95": {
            "mean": [p50, p50 * 1.2], "p50": [p50 * 0.9, p50 * 1.1], "p90": [p50 * 1.8, p50 * 2.2],
            "p95": [p50 * 2, p50 * 3], "p99": [p50 * 3, p50 * 5 if upper else None], "p99_9": [None, None],
        },
        "budget_ms": {
            "mean": budget, "p50_band": {part: ms * 0.9 for part, ms in budget.items()},
            "p99_band": {part: ms * 4 for part, ms in budget.items()},
        },
        "traced_mean_ms": sum(budget.values()) if budget else None, "traces": traces,
    }  # fmt: skip


BUDGET = {
    "work:graphql-gateway": 2.5, "db:order": 1.25, "wire:graphql-gateway→payment": 0.75, "wire:client→edge": 0.375,
    "proxy:edge": 0.25, "start_lag": 0.03125, "client": 0.015625, "unattributed": 0.001,
}  # fmt: skip


@pytest.fixture
def summary():
    gates = [
        {"name": "parity", "value": 0, "limit": 0, "ok": True},
        {"name": "start_lag_p99_ms", "value": 0.4321, "limit": 1.0, "ok": True},
        {"name": "failure_share", "value": 0.0125, "limit": 0.001, "ok": False},
        {"name": "steal_share", "value": None, "limit": 0.02, "ok": False},
    ]
    journeys = {
        "all": cell(12_345, 5.0, {"timeout": 150, "wrong_answer": 4}, 2_469, BUDGET),
        "browse": cell(11_000, 4.5, {"timeout": 150}, 2_000, BUDGET),
        "update_profile": cell(345, 123.456, {"wrong_answer": 4}, 0, upper=False),
    }
    wire = {
        "bytes_in": 43_207_500, "bytes_out": 2_469_000, "in_per_journey": 3500.0, "out_per_journey": 200.0,
        "opening_bytes_in": 1234, "opening_bytes_out": 5678, "connections": 4,
    }  # fmt: skip
    topology = {
        "throughput_per_s": 20.0, "errors": {}, "cpu_ms_per_journey": {}, "rss_mb": {}, "wire": wire, "sidecars": {},
        "journeys": journeys,
    }  # fmt: skip
    return {
        "mode": "open", "closed": None, "blocks": 1, "verdict": "WRONG",
        "verdicts": [
            {
                "block": 1, "topology": "hybrid", "attempt": 1, "used": True, "verdict": "WRONG",
                "reasons": ["failure_share", "steal_share"],
            }
        ],
        "switches": {"edge": "envoy", "delay_ms": {}}, "gates_left_out": [], "gates": gates,
        "topologies": {"hybrid": topology},
        "observer_effect_ms": {"p50": 0.123, "ci95": [-0.01, 0.25], "topologies": {}},
    }  # fmt: skip


@pytest.fixture
def closed(summary):
    reason = "in a closed loop nothing says when a journey should start"
    return summary | {
        "mode": "closed",
        "closed": {"vus": 16, "think_s": 0.1},
        "gates": [gate for gate in summary["gates"] if gate["name"] != "start_lag_p99_ms"],
        "gates_left_out": [{"name": "start_lag_p99_ms", "reason": reason}],
    }


def test_a_run_that_was_slowed_on_purpose_says_so_first(summary):
    slowed = summary | {"switches": {"edge": "envoy", "delay_ms": {"payment": 2.0, "product": 0.5}}}
    shown = " ".join(print_text(bench(slowed), 80).split())
    assert shown.startswith("DELAY INJECTED: 2 ms in payment, 0.5 ms in product, in every request")


def print_text(what, width):
    return "".join(line.rstrip() + "\n" for line in print_view(what, width).splitlines())


def golden(name, text):
    """Returns the expected text; if the golden files are being rewritten, the current text."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("HOPS_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 120])
def test_bench_looks_as_it_did(summary, width):
    text = print_text(bench(summary), width)
    assert text == golden(f"bench_{width}", text)


def test_a_closed_loop_is_marked_wherever_its_numbers_show(closed):
    text = print_text(bench(closed), 80)
    assert text == golden("bench_closed_80", text)
    assert text.startswith("CLOSED LOOP: 16 virtual users")
    captions = ("latency by journey", "hop budgets of", "hop budget of", "requests and bytes per", "bytes on the wire")
    titles = [line for line in text.splitlines() if any(words in line.lower() for words in captions)]
    assert len(titles) == 6
    assert [line for line in titles if not line.startswith("WRONG: Closed loop: ")] == []
    assert SummaryView(closed).mark_caption("CPU time, ms") == "WRONG: Closed loop: CPU time, ms"


@pytest.fixture
def meshed(summary):
    """A bench with a mesh: each leg of a call is a separate part, and most of these parts are small."""
    topology = summary["topologies"]["hybrid"]
    legs = {
        "wire:edge→edge-outbound": 0.04, "proxy:edge-outbound": 0.1, "wire:edge-outbound→graphql-gateway-inbound": 0.03,
        "proxy:graphql-gateway-inbound": 0.15, "wire:graphql-gateway-inbound→graphql-gateway": 0.02,
    }  # fmt: skip
    topology["journeys"] = {one: cell(100, 5.0, None, 20, BUDGET | legs) for one in ("all", "browse", "update_profile")}
    topology["sidecars"] = {
        "edge-outbound": {"crossings_per_journey": 1.5, "ms_per_crossing": 0.0667},
        "graphql-gateway-inbound": {"crossings_per_journey": 1.25, "ms_per_crossing": 0.12},
        "graphql-gateway-outbound": {"crossings_per_journey": 0.5, "ms_per_crossing": None},
    }
    topology["cpu_ms_per_journey"] = {"edge": 0.5, "edge-sidecar": 0.25, "graphql-gateway-sidecar": 0.5}
    topology["rss_mb"] = {"edge": 30.0, "edge-sidecar": 40.0, "graphql-gateway-sidecar": 60.0}
    return summary | {"switches": {"edge": "envoy", "mesh": "istio", "mtls": "on", "canary": 10, "delay_ms": {}}}


@pytest.mark.parametrize("width", [80, 120])
def test_a_run_with_a_mesh_shows_its_groups_first_and_its_sidecars(meshed, width):
    text = print_text(bench(meshed), width)
    assert text == golden(f"bench_mesh_{width}", text)
    assert text.startswith("Mesh: Istio, mTLS on, 10 % of the calls to product go to the canary.")
    assert text.index("Hop budgets of all by group") < text.index("Parts of the hop budgets of all")
    flat = " ".join(text.split())
    assert (
        "hybrid: a journey crosses sidecars 3.25 times, which takes 0.25 ms of its time (4.5 %). They use 0.75 ms of "
        "CPU for each journey and 100 MiB of memory together." in flat
    )


def test_a_run_with_replicas_says_how_many(summary):
    assert "Replicas" not in print_text(bench(summary), 120)
    several = summary | {"switches": summary["switches"] | {"replicas": {"graphql-gateway": 2, "product": 3}}}
    assert "Replicas: 2 of graphql-gateway, 3 of product." in print_text(bench(several), 120)


def test_sidecars_of_a_run_without_traces_show_what_they_use(meshed):
    topology = meshed["topologies"]["hybrid"]
    topology["journeys"] = {"all": cell(100, 5.0)}
    topology["sidecars"] = {}
    flat = " ".join(print_text(bench(meshed), 120).split())
    assert "hybrid: sidecars use 0.75 ms of CPU for each journey and 100 MiB of memory together." in flat


def test_uncounted_figures_are_not_made_up(summary):
    topology = summary["topologies"]["hybrid"]
    topology["wire"] = None
    for cell_ in topology["journeys"].values():
        cell_ |= {"wire_in_mean": None, "wire_out_mean": None}
    view = SummaryView(summary)
    assert "wire in" not in [column.name for column in bytes_table(view).columns]
    (row,) = [line for line in print_text(elements([wire_table(view)]), 80).splitlines() if "hybrid" in line]
    assert row.split() == ["hybrid", *["–"] * 5]
