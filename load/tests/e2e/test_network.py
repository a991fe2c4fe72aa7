from __future__ import annotations

from typing import Any

import polars as pl
import pytest

pytestmark = pytest.mark.e2e

MS = 1_000_000


@pytest.fixture(scope="module")
def near(terminal: Any) -> dict[str, Any]:
    """The summary of a bench without a network."""
    return run_of(terminal)[0]


def run_of(terminal: Any, *settings: str) -> tuple[dict[str, Any], pl.DataFrame]:
    """Runs a bench, checks the gates that do not depend on the machine, and returns its summary and rows."""
    summary, folder = terminal.bench("topology=hybrid", *settings)
    assert terminal.failed_code_gates(summary) == []
    assert terminal.left_over() == []
    return summary, pl.read_parquet(folder / "journeys.parquet")


@pytest.mark.parametrize("visit", ["warm", "first"])
def test_answers_are_those_without_a_network_and_each_wave_takes_a_round_trip(
    terminal: Any, near: dict[str, Any], visit: str
) -> None:
    summary, rows = run_of(terminal, "rtt=20ms", f"visit={visit}")
    assert summary["tape"] == near["tape"]
    assert summary["tape"]["answers_sha256"] is not None
    switches = summary["switches"]
    assert (switches["rtt_ms"], switches["visit"], switches["tls"]) == (20.0, visit, "on")
    channel = {"rtt_ms": 20.0, "down_mbit": None, "up_mbit": None, "name": None}
    assert summary["network"] == {"visit": visit, "channels": dict.fromkeys(("web", "mobile", "partner"), channel)}
    assert "network" not in near
    assert ("late_customers" in {gate["name"] for gate in summary["gates"]}) == (visit == "warm")
    # On a first visit, opening the connection takes two more round trips: TCP's and TLS 1.3's. A large answer waits for
    # the new connection's window.
    opening = 2 if visit == "first" else 0
    ended = rows.filter(pl.col("outcome") == "ok")
    large = ended["journey"] == "bulk_lines"
    assert (ended.filter(~large)["opening_round_trips"] == opening).all()
    assert (ended.filter(large)["opening_round_trips"] > opening).all() == (visit == "first")
    assert (ended["network_ns"] >= ended["waves"] * 20 * MS).all()
    assert (ended["latency_ns"] >= ended["network_ns"] + opening * 20 * MS).all()
    # The budgets account for the network's time to the nanosecond: the gate `network_off_ns` passes.
    assert "network_off_ns" in {gate["name"] for gate in summary["gates"]}
    mean = summary["topologies"]["hybrid"]["journeys"]["all"]["budget_ms"]["mean"]
    assert mean["network"] >= 20
    assert mean.get("handshake", 0.0) >= 20 * opening


def test_each_channel_has_the_network_of_the_workload(terminal: Any, near: dict[str, Any]) -> None:
    summary, rows = run_of(terminal, "workload=distant")
    assert summary["tape"]["journeys"] == near["tape"]["journeys"]
    names = {channel: network["name"] for channel, network in summary["network"]["channels"].items()}
    assert names == {"web": "wifi", "mobile": "4g", "partner": "lan"}
    mobile = rows.filter((pl.col("channel") == "mobile") & (pl.col("outcome") == "ok"))
    assert (mobile["latency_ns"] >= mobile["waves"] * 70 * MS).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rtt=-1"], "rtt=-1 is not a round-trip time from 0ms to 2s, such as 40ms or 0.5ms"),
        (["rtt=2h"], "rtt=2h is not a round-trip time from 0ms to 2s, such as 40ms or 0.5ms"),
        (["bandwidth=0"], "bandwidth=0 is not of the form DOWN/UP, such as 10mbit/2mbit, each from 10kbit to 10gbit"),
        (["network=6g"], "network=6g is unknown; valid: loopback, lan, wifi, 5g, 4g, 3g"),
        (["visit=never"], "visit=never is unknown; valid: warm, first"),
        (["visit=first"], "visit=first needs a network"),
        (["rtt=40ms", "edge=none", "http=1"], "rtt=40ms with edge=none: customers at a distance"),
        (["rtt=40ms", "runtime=kubernetes"], "rtt=40ms with runtime=kubernetes: between the load's pods and the edge"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(refused, arguments: list[str], message: str) -> None:
    refused(["profile=smoke", *arguments, "bench"], message)


@pytest.mark.parametrize(("command", "named"), [("ladder", "ladder"), ("sweep", "capacity"), ("stress", "capacity")])
def test_commands_whose_customers_are_near_refuse_a_workload_with_networks(refused, command: str, named: str) -> None:
    refused(["workload=distant", command], f"which `make {named}` does not emulate")
